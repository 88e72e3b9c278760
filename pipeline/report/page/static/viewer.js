"use strict";
// Shows one GLB with three.js: drag to turn, scroll or pinch to zoom; arrow keys turn, + and - zoom.
// It runs in a frame of its own; the page puts the model in place of its name.

const STYLE = document.createElement("style");
STYLE.textContent = "canvas:focus-visible { outline: 3px solid #4c8fcb; outline-offset: -3px; }";
document.head.append(STYLE);
document.title = "3D view";
// The page around is for all of trimesh's uses; here a reader may enlarge what they read.
document.querySelector("meta[name=viewport]").content = "width=device-width";

const MODEL = "@model@";
const THEME = "@theme@";
const CORNERS = [[0.62, 0.55, 0.9], [-0.62, 0.55, 0.9], [0.62, 0.55, -0.9], [-0.62, 0.55, -0.9], [0.62, -0.55, 0.9]];
const GOOD_ENOUGH = 0.6;
const ANGLE = 40; // degrees from top to bottom
const MARGIN = 1.05;

function show(gltf) {
  const scene = new THREE.Scene();
  scene.background = new THREE.Color(THEME === "dark" ? 0x1e2228 : 0xf0f1f3);
  // Together hardly more than full light, so that white surfaces keep their shape.
  scene.add(gltf.scene, new THREE.AmbientLight(0xffffff, 0.45));
  const light = new THREE.DirectionalLight(0xffffff, 0.6);
  scene.add(light);
  const box = new THREE.Box3().setFromObject(gltf.scene);
  const middle = box.getCenter(new THREE.Vector3());
  const radius = box.getSize(new THREE.Vector3()).length() / 2 || 1;
  const camera = new THREE.PerspectiveCamera(ANGLE, innerWidth / innerHeight, radius / 100, radius * 100);
  const way = bestCorner(gltf.scene);
  camera.position.copy(middle).addScaledVector(way, distanceToSee(box, middle, way, camera.aspect) || radius);
  const renderer = new THREE.WebGLRenderer({ antialias: true, preserveDrawingBuffer: true });
  renderer.outputEncoding = THREE.sRGBEncoding;
  const canvas = renderer.domElement;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "3D view: arrow keys turn, + and - zoom");
  document.body.append(canvas);
  const focus = () => { if (document.activeElement === document.body) canvas.focus(); };
  addEventListener("focus", focus);
  if (document.hasFocus()) focus();
  const controls = new THREE.TrackballControls(camera, canvas);
  controls.target.copy(middle);
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

// From where pictures are taken: the first corner that shows nearly as much of the fronts of
// triangles as the best one. Backs are not drawn, so from elsewhere there may be nothing to see.
function bestCorner(model) {
  const ways = CORNERS.map((corner) => new THREE.Vector3(...corner).normalize());
  const shown = ways.map(() => 0);
  model.updateMatrixWorld(true);
  model.traverse((mesh) => {
    if (!mesh.isMesh) return;
    const { attributes: { position }, index } = mesh.geometry;
    const place = (at) => new THREE.Vector3().fromBufferAttribute(position, index ? index.getX(at) : at).applyMatrix4(mesh.matrixWorld);
    for (let at = 0; at < (index ?? position).count; at += 3) {
      const first = place(at);
      // Twice as long as the triangle is large.
      const normal = place(at + 1).sub(first).cross(place(at + 2).sub(first));
      ways.forEach((way, number) => { shown[number] += Math.max(normal.dot(way), 0); });
    }
  });
  const enough = GOOD_ENOUGH * Math.max(...shown);
  return ways[shown.findIndex((area) => area >= enough)] ?? ways[0];
}

// How far from its middle, in a direction, all corners of a box are in view.
function distanceToSee(box, middle, way, aspect) {
  const right = new THREE.Vector3(0, 1, 0).cross(way).normalize();
  const up = way.clone().cross(right);
  const slope = Math.tan((ANGLE / 2) * (Math.PI / 180)) / MARGIN;
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => new THREE.Vector3(
    bits & 1 ? box.max.x : box.min.x, bits & 2 ? box.max.y : box.min.y, bits & 4 ? box.max.z : box.min.z,
  ).sub(middle));
  return Math.max(...corners.map((one) => (
    one.dot(way) + Math.max(Math.abs(one.dot(up)), Math.abs(one.dot(right)) / aspect) / slope
  )));
}

function turn(key, camera, target) {
  const angle = { ArrowLeft: -0.1, ArrowRight: 0.1 }[key];
  const tilt = { ArrowUp: -0.1, ArrowDown: 0.1 }[key];
  const zoom = { "+": 0.9, "-": 1.1 }[key];
  const offset = camera.position.clone().sub(target);
  if (angle) offset.applyAxisAngle(camera.up, angle);
  if (tilt) {
    const side = camera.up.clone().cross(offset).normalize();
    offset.applyAxisAngle(side, tilt);
    camera.up.applyAxisAngle(side, tilt);
  }
  if (zoom) offset.multiplyScalar(zoom);
  camera.position.copy(target).add(offset);
  // The page's dialog does not hear of keys that are pressed in here.
  if (key === "Escape") parent.postMessage("escape", "*");
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
