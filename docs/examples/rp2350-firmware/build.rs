//! Builds the assets with Cartwright before the crate is compiled.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    // Where dodo.py, manifests/ and assets/ are; this crate lies in a folder of that project.
    let project = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("..");
    let assets = Path::new(&env::var("OUT_DIR").unwrap()).join("assets");
    // It prints the cargo:rerun-if-changed lines itself; its messages go to the standard error.
    let status = Command::new("doit")
        .args(["cargo", "rp2350", "--into"])
        .arg(assets)
        .current_dir(project)
        .status()
        .expect("doit could not be started; is Cartwright installed?");
    assert!(status.success(), "the assets could not be built");
}
