//! Prints what firmware would see, so that a test compares it with the sources: a texture `player`,
//! one `wood` with mip levels, and a mesh `ball`. With other assets it does not compile.
#![deny(warnings)]

use firmware::assets::*;
use firmware::{for_each_triangle, place, texel, vertex};

fn print_texture(name: &str, size: (u32, u32), format: TextureFormat, data: &[u8], mips: &[usize]) {
    for (level, &start) in mips.iter().enumerate() {
        let (width, height) = ((size.0 >> level).max(1) as usize, (size.1 >> level).max(1) as usize);
        print!("texture {name} {level} {width} {height} ");
        for y in 0..height {
            for x in 0..width {
                for channel in texel(format, &data[start..], width, x, y) {
                    print!("{channel:02x}");
                }
            }
        }
        println!();
    }
}

fn print_mesh(name: &str, patches: &[MeshPatchDescriptor], min: [f32; 3], max: [f32; 3]) {
    for patch in patches {
        for_each_triangle(patch, |corners| {
            print!("triangle {name}");
            for corner in corners {
                let found = vertex(patch, corner);
                let [x, y, z] = place(found.position, min, max);
                let ([nx, ny, nz], [u, v]) = (found.normal, found.uv);
                print!(" {x},{y},{z},{nx},{ny},{nz},{u},{v}");
            }
            println!();
        });
    }
}

fn main() {
    print_texture(
        "player",
        (TEXTURES_PLAYER_WIDTH, TEXTURES_PLAYER_HEIGHT),
        TEXTURES_PLAYER_FORMAT,
        TEXTURES_PLAYER_DATA,
        &[0],
    );
    print_texture(
        "wood",
        (TEXTURES_WOOD_WIDTH, TEXTURES_WOOD_HEIGHT),
        TEXTURES_WOOD_FORMAT,
        TEXTURES_WOOD_DATA,
        &TEXTURES_WOOD_MIP_OFFSETS,
    );
    print_mesh("ball", &MESHES_BALL_PATCHES, MESHES_BALL_AABB_MIN, MESHES_BALL_AABB_MAX);
}
