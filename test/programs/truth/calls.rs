//! Rust calls: panics that are caught, closures, generics, trait objects, and a comparison inside
//! of the standard library's sort.
mod truth;
use truth::Path;

macro_rules! leaf {
    ($name:ident, $multiplier:expr) => {
        #[inline(never)]
        fn $name(rounds: u32) -> u32 {
            truth::burn(rounds, $multiplier)
        }
    };
}

leaf!(trait_leaf, 1664525);
leaf!(closure_leaf, 1664527);
leaf!(generic_leaf, 1664529);
leaf!(below_panic_leaf, 1664531);
leaf!(after_panic_leaf, 1664533);
leaf!(drop_leaf, 1664535);
leaf!(sort_leaf, 1664537);

/// After a call: the caller still has work to do, so the call cannot become a jump.
macro_rules! keep {
    ($value:expr) => {
        truth::black_box($value).wrapping_add(1)
    };
}

trait Stage {
    fn run(&self, rounds: u32) -> u32;
}

struct TraitStage(u32);

impl Stage for TraitStage {
    #[inline(never)]
    fn run(&self, rounds: u32) -> u32 {
        keep!(trait_leaf(rounds)) + self.0
    }
}

#[inline(never)]
fn trait_outer(rounds: u32) -> u32 {
    let stage: Box<dyn Stage> = truth::black_box(Box::new(TraitStage(1)));
    keep!(stage.run(rounds))
}

#[inline(never)]
fn call_closure(closure: &dyn Fn(u32) -> u32, rounds: u32) -> u32 {
    keep!(closure(rounds))
}

#[inline(never)]
fn closure_outer(rounds: u32) -> u32 {
    let extra = truth::black_box(7);
    keep!(call_closure(&|inner| keep!(closure_leaf(inner)).wrapping_add(extra), rounds))
}

#[inline(never)]
fn generic_step<T: Into<u64> + Copy>(seed: T, rounds: u32) -> u32 {
    let more: u64 = seed.into();
    keep!(generic_leaf(rounds)).wrapping_add(more as u32)
}

#[inline(never)]
fn generic_outer(rounds: u32) -> u32 {
    keep!(generic_step(truth::black_box(1u8), rounds / 2))
        .wrapping_add(generic_step(truth::black_box(1u32), rounds / 2))
}

struct Guard(u32);

impl Drop for Guard {
    #[inline(never)]
    fn drop(&mut self) {
        if self.0 != 0 {
            truth::black_box(drop_leaf(self.0));
        }
    }
}

#[inline(never)]
fn panicking(rounds: u32) -> u32 {
    let value = if rounds != 0 { below_panic_leaf(rounds) } else { 1 };
    if truth::black_box(true) {
        std::panic::panic_any(value);
    }
    value
}

#[inline(never)]
fn guarded(rounds: u32, drop_rounds: u32) -> u32 {
    let _guard = Guard(drop_rounds);
    keep!(panicking(rounds))
}

#[inline(never)]
fn catching(rounds: u32, drop_rounds: u32) -> u32 {
    let result = std::panic::catch_unwind(|| guarded(rounds, drop_rounds));
    keep!(result.unwrap_or(3))
}

#[inline(never)]
fn below_panic(rounds: u32) -> u32 {
    keep!(catching(rounds, 0))
}

#[inline(never)]
fn while_panicking(rounds: u32) -> u32 {
    keep!(catching(0, rounds))
}

#[inline(never)]
fn after_panic(rounds: u32) -> u32 {
    let value = catching(0, 0);
    keep!(after_panic_leaf(rounds)).wrapping_add(value)
}

#[inline(never)]
fn sort_outer(rounds: u32) -> u32 {
    let mut numbers = truth::black_box(vec![3u32, 1]);
    numbers.sort_by(|left, right| {
        truth::black_box(sort_leaf(rounds));
        left.cmp(right)
    });
    keep!(numbers[0])
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut paths = [
        Path::new(&["calls::trait_leaf", "~TraitStage", "calls::trait_outer", "calls::main"],
                  trait_outer, 20),
        Path::new(&["calls::closure_leaf", "*", "calls::call_closure", "calls::closure_outer",
                    "calls::main"], closure_outer, 20),
        Path::new(&["calls::generic_leaf", "~generic_step", "calls::generic_outer", "calls::main"],
                  generic_outer, 15),
        Path::new(&["calls::below_panic_leaf", "calls::panicking", "calls::guarded", "*",
                    "calls::catching", "calls::below_panic", "calls::main"], below_panic, 15),
        Path::new(&["calls::drop_leaf", "~Guard", "calls::guarded", "*", "calls::catching",
                    "calls::while_panicking", "calls::main"], while_panicking, 10),
        Path::new(&["calls::after_panic_leaf", "calls::after_panic", "calls::main"], after_panic,
                  10),
        Path::new(&["calls::sort_leaf", "*", "calls::sort_outer", "calls::main"], sort_outer, 10),
    ];
    truth::spend(&mut paths);
    truth::print(&paths);
}
