//! What `quality_block.py` calls of texpresso: its cluster fit, for pictures in memory.

use std::slice::{from_raw_parts, from_raw_parts_mut};
use texpresso::{Algorithm, Format, Params, COLOUR_WEIGHTS_PERCEPTUAL, COLOUR_WEIGHTS_UNIFORM};

/// Encode a picture as BC1, with the weights of the eye, which are the crate's default, or alike.
///
/// # Safety
/// `rgba` has 4 bytes a texel, and `blocks` 8 for each 4x4 texels.
#[no_mangle]
pub unsafe extern "C" fn cluster_fit(
    rgba: *const u8,
    width: usize,
    height: usize,
    is_uniform: bool,
    blocks: *mut u8,
) {
    let weights = if is_uniform { COLOUR_WEIGHTS_UNIFORM } else { COLOUR_WEIGHTS_PERCEPTUAL };
    let params = Params { algorithm: Algorithm::ClusterFit, weights, ..Params::default() };
    let size = Format::Bc1.compressed_size(width, height);
    let (texels, found) =
        (from_raw_parts(rgba, 4 * width * height), from_raw_parts_mut(blocks, size));
    Format::Bc1.compress(texels, width, height, params, found);
}
