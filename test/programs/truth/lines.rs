//! Lines that know their CPU, Rust part: see lines.cc.
use std::arch::asm;

mod truth;

#[derive(Default)]
struct Spent {
    tight_ns: i64,
    spin_ns: i64,
    nested_ns: i64,
}

#[inline(always)]
fn spin(mut x: u64, rounds: u64) -> u64 {
    let mut i = 0; // at spin
    while i < rounds { // at spin
        unsafe { asm!("imul {0}, {0}", "lea {0}, [{0} + 1]", inout(reg) x) }; // at spin
        i += 1; // at spin
    }
    x
}

#[inline(always)]
fn nested(x: u64, rounds: u64) -> u64 {
    spin(x, rounds) // at nested
}

#[inline(never)]
#[rustfmt::skip]
fn hot(rounds: u64, spent: &mut Spent) -> u64 { // at beside
    let mut x = rounds; // at beside
    let mut i = 0; // at beside
    let start_ns = truth::thread_cpu_ns(); // at beside
    while i < rounds { // at beside
        unsafe { asm!(".rept 40; imul {0},{0}; lea {0},[{0}+1]; .endr", inout(reg) x) } // at forty
        unsafe { asm!(".rept 30; imul {0},{0}; lea {0},[{0}+1]; .endr", inout(reg) x) } // at thirty
        unsafe { asm!(".rept 20; imul {0},{0}; lea {0},[{0}+1]; .endr", inout(reg) x) } // at twenty
        unsafe { asm!(".rept 10; imul {0},{0}; lea {0},[{0}+1]; .endr", inout(reg) x) } // at ten
        i += 1; // at beside
    }
    let tight_end_ns = truth::thread_cpu_ns(); // at beside
    x = spin(x, rounds * 60); // at spin_call
    let spin_end_ns = truth::thread_cpu_ns(); // at beside
    x = nested(x, rounds * 40); // at nested_call
    let nested_end_ns = truth::thread_cpu_ns(); // at beside
    spent.tight_ns += tight_end_ns - start_ns; // at beside
    spent.spin_ns += spin_end_ns - tight_end_ns; // at beside
    spent.nested_ns += nested_end_ns - spin_end_ns; // at beside
    x // at beside
} // at beside

fn main() {
    let end_ns = truth::duration().as_nanos() as i64;
    let mut random = 12345u32;
    let mut spent = Spent::default();
    while truth::thread_cpu_ns() < end_ns {
        random = random.wrapping_mul(1103515245).wrapping_add(12345);
        let rounds = (100_000 + (random >> 10) % 1_900_000) / 200;
        truth::black_box(hot(u64::from(rounds), &mut spent));
    }
    let lines: Vec<String> = [
        (r#""forty""#, spent.tight_ns * 40 / 100),
        (r#""thirty""#, spent.tight_ns * 30 / 100),
        (r#""twenty""#, spent.tight_ns * 20 / 100),
        (r#""ten""#, spent.tight_ns * 10 / 100),
        (r#""spin", "spin_call""#, spent.spin_ns),
        (r#""spin", "nested", "nested_call""#, spent.nested_ns),
    ]
    .iter()
    .map(|(at, cpu_ns)| format!("{{\"at\": [{at}], \"cpu_ns\": {cpu_ns}}}"))
    .collect();
    println!("{{\"program\": \"{}\", \"pid\": {}, \"function\": \"lines::hot\", \
              \"source\": \"lines.rs\", \"lines\": [{}]}}",
             truth::program_name(), std::process::id(), lines.join(", "));
}
