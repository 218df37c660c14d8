//! The states of the generators of Python and NumPy, which a training state needs to be resumed in
//! Python. Nothing here draws from them.

use nnx_checkpoint::{Dtype, Tensor};
use nnx_net::Generator;
use nnx_run::{Data, RngState};

use crate::error::{Error, ErrorKind, Result};
use crate::loader::Loader;

const WORDS: usize = 624;

/// The states that this program keeps and does not change.
#[derive(Clone, Debug)]
pub(crate) struct RngStreams {
    python: Data,
    numpy: Data,
    cuda: Data,
    mps: Data,
}

impl RngStreams {
    /// The states after `random.seed(seed)` and `numpy.random.seed(seed)`.
    pub(crate) fn seeded(seed: u64) -> Self {
        Self {
            python: python_state(seed),
            numpy: numpy_state(seed),
            cuda: Data::None,
            mps: Data::None,
        }
    }

    /// The states of a training state, where it has them.
    pub(crate) fn restored(&self, saved: RngState<'_>) -> Self {
        let part = |name: &str, other: &Data| saved.data().get(name).unwrap_or(other).clone();
        Self {
            python: part("python", &self.python),
            numpy: part("numpy", &self.numpy),
            cuda: part("cuda", &self.cuda),
            mps: part("mps", &self.mps),
        }
    }

    /// All streams, as a training state holds them.
    pub(crate) fn capture(
        &self,
        default: &Generator,
        loader: &mut (dyn Loader + '_),
    ) -> Result<Data> {
        let mut entries = vec![
            ("python", self.python.clone()),
            ("numpy", self.numpy.clone()),
            ("torch", torch_state(default)?),
            ("cuda", self.cuda.clone()),
            ("mps", self.mps.clone()),
        ];
        let generators = loader.generators();
        if let [only] = generators.as_slice() {
            // Where a loader of PyTorch that shuffles has its generator.
            for place in [
                "train_loader_generator",
                "train_sampler_generator",
                "train_batch_sampler_sampler_generator",
            ] {
                entries.push((place, torch_state(only)?));
            }
        }
        let generators = generators.iter().map(|generator| {
            let seed = Data::Int(generator.initial_seed().into());
            Ok(Data::dict([
                ("initial_seed", seed),
                ("state", torch_state(generator)?),
            ]))
        });
        entries.push((
            "train_generators",
            Data::List(generators.collect::<Result<_>>()?),
        ));
        Ok(Data::dict(entries))
    }
}

/// Sets the default generator and those of the loader to saved states.
///
/// # Errors
/// When the loader has another number of generators, or generators with other seeds, or a state is
/// malformed; nothing is changed then.
pub(crate) fn restore(
    saved: RngState<'_>,
    default: &mut Generator,
    loader: &mut (dyn Loader + '_),
) -> Result<()> {
    let states = saved.train_generators();
    let mut generators = loader.generators();
    if states.len() != generators.len() {
        return Err(cannot_resume(format!(
            "the loader of the checkpoint had {} generators of its own, this one has {}",
            states.len(),
            generators.len()
        )));
    }
    let mut found = Vec::new();
    for generator in &generators {
        let seed = i128::from(generator.initial_seed());
        let mut matching = states
            .iter()
            .filter(|state| states.len() == 1 || state.initial_seed == Some(seed));
        match (matching.next(), matching.next()) {
            (Some(state), None) => found.push(generator_of(state.state)?),
            _ => {
                return Err(cannot_resume(format!(
                    "the loader has a generator with the seed {seed}, and the checkpoint not exactly one"
                )));
            }
        }
    }
    if let Some(state) = saved.torch() {
        *default = generator_of(state)?;
    }
    for (generator, state) in generators.iter_mut().zip(found) {
        **generator = state;
    }
    Ok(())
}

fn torch_state(generator: &Generator) -> Result<Data> {
    let bytes = generator.to_state();
    let shape = [bytes.len()];
    Ok(Data::Tensor(Tensor::from_bytes(
        Dtype::UInt8,
        &shape,
        bytes,
    )?))
}

fn generator_of(state: &Tensor) -> Result<Generator> {
    Ok(Generator::from_state(&state.to_bytes()?)?)
}

#[cold]
fn cannot_resume(what: String) -> Error {
    ErrorKind::CannotResume { what }.into()
}

/// `numpy.random.get_state()` after `numpy.random.seed(seed)`.
fn numpy_state(seed: u64) -> Data {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "NumPy takes seeds of 32 bits only"
    )]
    let words = seeded_words(seed as u32);
    let words = words.iter().map(|word| Data::Int((*word).into()));
    Data::dict([
        ("bit_generator", Data::Str("MT19937".to_owned())),
        ("state", Data::List(words.collect())),
        ("position", Data::Int(WORDS as i128)),
        ("has_gauss", Data::Int(0)),
        ("cached_gaussian", Data::Float(0.0)),
    ])
}

/// `random.getstate()` after `random.seed(seed)`.
fn python_state(seed: u64) -> Data {
    let words = words_of_key(seed);
    let words = words.iter().map(|word| Data::Int((*word).into()));
    let words = words.chain([Data::Int(WORDS as i128)]);
    Data::Tuple(vec![Data::Int(3), Data::Tuple(words.collect()), Data::None])
}

/// MT19937's `init_genrand`.
fn seeded_words(seed: u32) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    let mut word = seed;
    for (i, slot) in (0_u32..).zip(&mut words) {
        if i > 0 {
            word = 1_812_433_253_u32
                .wrapping_mul(word ^ (word >> 30))
                .wrapping_add(i);
        }
        *slot = word;
    }
    words
}

/// MT19937's `init_by_array`, with the words of the seed from the lowest as key.
fn words_of_key(seed: u64) -> [u32; WORDS] {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the two halves of the seed"
    )]
    let (low, high) = (seed as u32, (seed >> 32) as u32);
    let key: &[u32] = if high == 0 { &[low] } else { &[low, high] };
    let mut words = seeded_words(19_650_218);
    let mut at = 1;
    let mixed = |words: &[u32; WORDS], at: usize, factor: u32| {
        let before = words[at - 1];
        words[at] ^ (before ^ (before >> 30)).wrapping_mul(factor)
    };
    let wrap = |words: &mut [u32; WORDS], at: usize| {
        if at + 1 < WORDS {
            return at + 1;
        }
        words[0] = words[WORDS - 1];
        1
    };
    for (index, word) in (0_u32..).zip(key).cycle().take(WORDS) {
        words[at] = mixed(&words, at, 1_664_525)
            .wrapping_add(*word)
            .wrapping_add(index);
        at = wrap(&mut words, at);
    }
    for _ in 1..WORDS {
        #[expect(clippy::cast_possible_truncation, reason = "there are 624 words")]
        let index = at as u32;
        words[at] = mixed(&words, at, 1_566_083_941).wrapping_sub(index);
        at = wrap(&mut words, at);
    }
    words[0] = 0x8000_0000;
    words
}
