//! Programs that know their own answer, Rust part: see truth.h for what is printed and how the CPU
//! is spent. Included by each program as `mod truth`.
use std::time::{Duration, Instant};

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

pub fn thread_cpu_ns() -> i64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

pub struct Path {
    pub frames: &'static [&'static str],
    pub enter: fn(u32) -> u32,
    pub goal_percent: i64,
    pub cpu_ns: i64,
}

impl Path {
    pub fn new(frames: &'static [&'static str], enter: fn(u32) -> u32, goal_percent: i64) -> Path {
        Path { frames, enter, goal_percent, cpu_ns: 0 }
    }
}

/// How long the program shall run.
pub fn duration() -> Duration {
    let seconds = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(3.0);
    Duration::from_secs_f64(seconds)
}

pub fn program_name() -> String {
    let path = std::env::args().next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or("").to_string()
}

/// What the compiler must believe to be used and changed: std's own is newer than Debian 12's Rust.
#[inline(always)]
pub fn black_box<T>(value: T) -> T {
    unsafe { std::arch::asm!("/* {0} */", in(reg) &value, options(nostack, preserves_flags)) };
    value
}

/// Arithmetic inside of the caller's own frame. Each leaf has a multiplier of its own, since equal
/// functions are made one.
#[inline(always)]
pub fn burn(rounds: u32, multiplier: u32) -> u32 {
    let mut value = rounds;
    for i in 0..rounds {
        value = black_box(value.wrapping_mul(multiplier).wrapping_add(i));
    }
    value
}

#[inline(always)]
pub fn spend(paths: &mut [Path]) {
    let end = Instant::now() + duration();
    let mut random = 12345u32;
    while Instant::now() < end {
        random = random.wrapping_mul(1103515245).wrapping_add(12345);
        let rounds = 100_000 + (random >> 10) % 1_900_000;
        let mut next = 0;
        for i in 1..paths.len() {
            let (path, best) = (&paths[i], &paths[next]);
            if path.cpu_ns * best.goal_percent < best.cpu_ns * path.goal_percent {
                next = i;
            }
        }
        let before_ns = thread_cpu_ns();
        black_box((paths[next].enter)(rounds));
        paths[next].cpu_ns += thread_cpu_ns() - before_ns;
    }
}

pub fn print(paths: &[Path]) {
    let listed: Vec<String> = paths
        .iter()
        .map(|path| {
            format!("{{\"frames\": [\"{}\"], \"goal_percent\": {}, \"cpu_ns\": {}}}",
                    path.frames.join("\", \""), path.goal_percent, path.cpu_ns)
        })
        .collect();
    println!("{{\"program\": \"{}\", \"paths\": [{}]}}", program_name(), listed.join(", "));
}
