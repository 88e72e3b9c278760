"use strict";
// Shows one GLB with three.js: drag to turn, scroll or pinch to zoom, arrow keys turn as well.
// It runs in a frame of its own; the page puts the model in place of its name.

const MODEL = "@model@";
const THEME = "@theme@";

function show(gltf) {
  const scene = new THREE.Scene();
  scene.background = new THREE.Color(THEME === "dark" ? 0x1e2228 : 0xf0f1f3);
  // Together hardly more than full light, so that white surfaces keep their shape.
  scene.add(gltf.scene, new THREE.AmbientLight(0xffffff, 0.45));
  const light = new THREE.DirectionalLight(0xffffff, 0.6);
  scene.add(light);
  const sphere = new THREE.Box3().setFromObject(gltf.scene).getBoundingSphere(new THREE.Sphere());
  const radius = sphere.radius || 1;
  const camera = new THREE.PerspectiveCamera(40, 1, radius / 100, radius * 100);
  camera.position.copy(sphere.center).add(new THREE.Vector3(0.8, 0.6, 1).normalize().multiplyScalar(radius * 2.75));
  const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
  renderer.outputEncoding = THREE.sRGBEncoding;
  renderer.domElement.tabIndex = 0;
  document.body.append(renderer.domElement);
  const controls = new THREE.TrackballControls(camera, renderer.domElement);
  controls.target.copy(sphere.center);
  controls.rotateSpeed = 2.5;
  const mixer = playClip(gltf);
  const resize = () => {
    camera.aspect = innerWidth / innerHeight;
    camera.updateProjectionMatrix();
    renderer.setPixelRatio(devicePixelRatio);
    renderer.setSize(innerWidth, innerHeight);
    controls.handleResize();
  };
  addEventListener("resize", resize);
  addEventListener("keydown", (event) => turn(event.key, camera, controls.target));
  resize();
  const clock = new THREE.Clock();
  const draw = () => {
    requestAnimationFrame(draw);
    mixer?.update(clock.getDelta());
    controls.update();
    // From above the left shoulder, as in the pictures.
    light.position.set(-0.35, 0.6, 0.72).applyQuaternion(camera.quaternion);
    renderer.render(scene, camera);
    document.documentElement.dataset.drawn = "yes";
  };
  draw();
}

function turn(key, camera, target) {
  const angle = { ArrowLeft: -0.1, ArrowRight: 0.1 }[key];
  const zoom = { "+": 0.9, "-": 1.1, ArrowUp: 0.9, ArrowDown: 1.1 }[key];
  const offset = camera.position.clone().sub(target);
  if (angle) offset.applyAxisAngle(camera.up, angle);
  if (zoom) offset.multiplyScalar(zoom);
  camera.position.copy(target).add(offset);
}

// Play the first clip of a model, with a button to stop it.
function playClip(gltf) {
  if (!gltf.animations.length) return null;
  const mixer = new THREE.AnimationMixer(gltf.scene);
  const action = mixer.clipAction(gltf.animations[0]);
  action.play();
  action.paused = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const button = document.createElement("button");
  const label = () => { button.textContent = action.paused ? "Play" : "Pause"; };
  button.style.cssText = "position:fixed;left:8px;bottom:8px;font:14px system-ui;padding:6px 12px";
  button.addEventListener("click", () => { action.paused = !action.paused; label(); });
  label();
  document.body.append(button);
  return mixer;
}

new THREE.GLTFLoader().load(`data:model/gltf-binary;base64,${MODEL}`, show, undefined, (error) => {
  document.body.append(`The model cannot be shown: ${error.message ?? error}`);
});
