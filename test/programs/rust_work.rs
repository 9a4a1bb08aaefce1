//! Rust workload: rust_work [SECONDS]. Two named functions, trait objects, closures and the
//! standard library's sort and hash map.
use std::collections::HashMap;
use std::time::{Duration, Instant};

trait Stage {
    fn run(&self, seed: u64) -> u64;
}

struct SortStage;
struct CountStage;

impl Stage for SortStage {
    #[inline(never)]
    fn run(&self, seed: u64) -> u64 {
        sort_words(seed)
    }
}

impl Stage for CountStage {
    #[inline(never)]
    fn run(&self, seed: u64) -> u64 {
        count_words(seed)
    }
}

#[inline(never)]
fn sort_words(seed: u64) -> u64 {
    let mut words: Vec<u64> =
        (0..20_000u64).map(|i| i.wrapping_mul(seed | 1).rotate_left(17)).collect();
    words.sort_by(|a, b| (a >> 3).cmp(&(b >> 3)));
    words[10] ^ words[19_999]
}

#[inline(never)]
fn count_words(seed: u64) -> u64 {
    let mut counts: HashMap<u64, u64> = HashMap::new();
    for i in 0..20_000u64 {
        *counts.entry(i.wrapping_mul(seed | 1) % 997).or_insert(0) += 1;
    }
    counts.values().copied().max().unwrap_or(0)
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(3.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let stages: Vec<Box<dyn Stage>> = vec![Box::new(SortStage), Box::new(CountStage)];
    let mut sum = 0u64;
    let mut seed = 1u64;
    while Instant::now() < end {
        for stage in &stages {
            sum = sum.wrapping_add(stage.run(seed));
        }
        seed += 2;
    }
    println!("{}", sum);
}
