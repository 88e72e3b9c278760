//! The program of your game. A constant is called after its source's folder and file, such as
//! `MESHES_CRATE_PATCHES`; `mod.rs` in the folder that this prints includes all of them.
#![deny(warnings)]

fn main() {
    println!("{}", concat!(env!("OUT_DIR"), "/assets"));
}
