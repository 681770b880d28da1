import fc from 'fast-check'

/** Runs of one property in the suite; `bun run soak` does more. */
const SUITE_RUNS = 500
/** Longest time for one property of the suite, in milliseconds: a busy machine makes fewer runs, it does not fail. */
const SUITE_LIMIT_MS = 2_000

const seed = wholeNumber('PATCHBAY_FUZZ_SEED') ?? Math.floor(Math.random() * 0x7fff_ffff)
const runs = wholeNumber('PATCHBAY_FUZZ_RUNS') ?? SUITE_RUNS
const path = process.env.PATCHBAY_FUZZ_PATH
console.log(`fuzz: PATCHBAY_FUZZ_SEED=${seed} PATCHBAY_FUZZ_RUNS=${runs}`)

/** Timeout in milliseconds for a test whose properties take `ms` in the suite. */
export function fuzzTimeout(ms = SUITE_LIMIT_MS): number {
  return 2 * scaled(ms) + 30_000
}

interface CheckOptions {
  /** Runs as a share of the usual number, for properties with expensive runs. Default 1. */
  readonly share?: number
  /** Longest time in the suite, in milliseconds. Default 2_000. */
  readonly limitMs?: number
}

/**
 * Runs a property with the seed of this process, which is printed, and throws with the line that repeats the failure:
 * `PATCHBAY_FUZZ_SEED` and `PATCHBAY_FUZZ_PATH` before the same command.
 */
export async function check<Values>(
  property: fc.IProperty<Values> | fc.IAsyncProperty<Values>,
  { share = 1, limitMs = SUITE_LIMIT_MS }: CheckOptions = {},
): Promise<void> {
  const numRuns = Math.max(1, Math.round(runs * share))
  const limited = withinTime(property as fc.IAsyncProperty<Values>, scaled(limitMs))
  const details = await fc.check(limited, { seed, numRuns, ...(path === undefined ? {} : { path }) })
  if (!details.failed) return
  const repeat = `PATCHBAY_FUZZ_SEED=${details.seed} PATCHBAY_FUZZ_PATH=${details.counterexamplePath ?? ''}`
  throw new Error(`${fc.defaultReportMessage(details)}\n\nTo repeat it: ${repeat}`, { cause: details.errorInstance })
}

/**
 * The property; after this time no further run begins, but at least one does. A run that has begun is awaited, unlike with the
 * package's own limit: it would continue beside the test's next steps.
 */
function withinTime<Values>(property: fc.IAsyncProperty<Values>, limitMs: number): fc.IAsyncProperty<Values> {
  const endMs = performance.now() + limitMs
  let begun = 0
  return Object.create(property, {
    run: {
      value(values: Values) {
        if (begun > 0 && performance.now() > endMs) return new fc.PreconditionFailure(true)
        begun += 1
        return property.run(values)
      },
    },
  }) as fc.IAsyncProperty<Values>
}

/** More runs may take more time, in proportion. */
function scaled(ms: number): number {
  return Math.max(ms, (ms * runs) / SUITE_RUNS)
}

function wholeNumber(name: string): number | undefined {
  const text = process.env[name]
  if (text === undefined || text === '') return undefined
  if (!/^-?\d{1,10}$/.test(text)) throw new Error(`${name} is "${text}"; wanted: a whole number`)
  return Number(text)
}

/** Texts of every kind: plain, of any code units (including lone surrogates), and combinations of the pieces. */
export function hostileText(...pieces: readonly string[]): fc.Arbitrary<string> {
  const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
  const anyUnits = units.map(codes => String.fromCharCode(...codes))
  const plain = [fc.string(), fc.string({ unit: 'grapheme' }), anyUnits]
  if (pieces.length === 0) return fc.oneof(...plain)
  const mixed = fc.array(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...pieces) }, ...plain), { maxLength: 24 })
  return fc.oneof({ weight: 3, arbitrary: mixed.map(parts => parts.join('')) }, ...plain)
}

/** JSON values with the keys and numbers that go wrong. */
export function jsonValue(maxDepth = 4): fc.Arbitrary<fc.JsonValue> {
  const key = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('', '__proto__', 'constructor', '~', '/', 'a~1b', '0'),
  )
  const { tree } = fc.letrec<{ tree: fc.JsonValue }>(tie => ({
    tree: fc.oneof(
      { maxDepth, depthIdentifier: 'json' },
      fc.constantFrom(null, true, false, 0, '', 'text', [], 1e300, 5e-324, Number.MAX_SAFE_INTEGER),
      fc.string({ unit: 'grapheme' }),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map(number => (Object.is(number, -0) ? 0 : number)),
      fc.array(tie('tree'), { maxLength: 4 }),
      // Pairs, and not fc.dictionary, so that `__proto__` is an own member as it is for JSON.parse.
      fc.array(fc.tuple(key, tie('tree')), { maxLength: 4 }).map(pairs => Object.fromEntries(pairs) as fc.JsonValue),
    ),
  }))
  return tree
}

/** The bytes cut at random places, empty pieces among them. */
export function pieces(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...cuts.map(cut => (bytes.length === 0 ? 0 : cut % (bytes.length + 1))), bytes.length]
  places.sort((a, b) => a - b)
  return places.map((end, index) => Buffer.from(bytes.subarray(places[index - 1] ?? 0, end)))
}

/** Positions of cuts; the values count modulo the length. */
export const cuts = fc.array(fc.nat(), { maxLength: 12 })
