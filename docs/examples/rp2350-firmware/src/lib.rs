//! How firmware reads the generated assets. Nothing here allocates or needs `std`.
#![no_std]
#![deny(warnings)]

pub mod assets {
    include!(concat!(env!("OUT_DIR"), "/assets/mod.rs"));
}

use assets::{MeshPatchDescriptor, TextureFormat};

fn word(data: &[u8], index: usize) -> u16 {
    u16::from_le_bytes([data[2 * index], data[2 * index + 1]])
}

/// Reads the texel at (x, y) of one level as RGBA, as the graphics processor would.
pub fn texel(format: TextureFormat, level: &[u8], width: usize, x: usize, y: usize) -> [u8; 4] {
    let block = (y / 4) * width.div_ceil(4) + x / 4;
    let place = (y % 4) * 4 + x % 4;
    match format {
        TextureFormat::RGBA4444 => {
            let word = word(level, block * 16 + place);
            [12, 8, 4, 0].map(|shift| (word >> shift & 15) as u8 * 17)
        }
        TextureFormat::BC1 => {
            let colors = [word(level, block * 4), word(level, block * 4 + 1)];
            let indices = [word(level, block * 4 + 2), word(level, block * 4 + 3)];
            let index = indices[place / 8] >> (2 * (place % 8)) & 3;
            bc1_color(colors[0], colors[1], index)
        }
    }
}

fn bc1_color(first: u16, second: u16, index: u16) -> [u8; 4] {
    if index == 3 && first <= second {
        return [0; 4];
    }
    let mix = |shift: u16, mask: u16| {
        let (a, b) = (first >> shift & mask, second >> shift & mask);
        match (index, first > second) {
            (0, _) => a,
            (1, _) => b,
            (2, true) => (2 * a + b + 1) / 3,
            (2, false) => (a + b) / 2,
            _ => (2 * b + a + 1) / 3,
        }
    };
    let (r, g, b) = (mix(11, 31), mix(5, 63), mix(0, 31));
    [(r << 3 | r >> 2) as u8, (g << 2 | g >> 4) as u8, (b << 3 | b >> 2) as u8, 255]
}

/// A vertex as the patch stores it.
#[derive(Copy, Clone, Debug)]
pub struct Vertex {
    pub position: [u16; 3],
    pub normal: [i16; 3],
    pub uv: [i16; 2],
}

/// Reads one vertex of a patch: eight arrays lie one behind the other.
pub fn vertex(patch: &MeshPatchDescriptor, index: usize) -> Vertex {
    let at = |array: usize| word(patch.data, array * patch.vertex_count + index);
    Vertex {
        position: [at(0), at(1), at(2)],
        normal: [at(3) as i16, at(4) as i16, at(5) as i16],
        uv: [at(6) as i16, at(7) as i16],
    }
}

/// Runs the strip entries of a patch and hands every triangle to `draw`.
pub fn for_each_triangle(patch: &MeshPatchDescriptor, mut draw: impl FnMut([usize; 3])) {
    let mut window = [0; 3];
    let start = patch.vertex_count * 16;
    for entry in &patch.data[start..start + patch.entry_count] {
        window = [window[1], window[2], usize::from(entry >> 4)];
        match entry >> 2 & 3 {
            0 => {}
            1 => draw(window),
            _ => draw([window[0], window[2], window[1]]),
        }
    }
}

/// Turns a stored position back into model space.
pub fn place(position: [u16; 3], min: [f32; 3], max: [f32; 3]) -> [f32; 3] {
    core::array::from_fn(|axis| {
        min[axis] + f32::from(position[axis]) * (max[axis] - min[axis]) / 65535.0
    })
}
