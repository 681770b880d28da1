/** Milliseconds of each unit, largest first, which is the order in a text. */
const UNITS: readonly (readonly [string, number])[] = [
  ['w', 7 * 86_400_000],
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
]

const DURATION = /^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+)s)?(?:(\d+)ms)?$/

/**
 * A duration in milliseconds: `"5m"`, `"30d"`, `"1h30m"`, `"250ms"`, or a whole number of milliseconds. Strict: whole
 * numbers, each unit at most once, largest first, no spaces, no sign; undefined for anything else, and beyond a safe
 * integer. Zero is valid; the caller decides whether to allow it.
 */
export function parseDuration(input: unknown): number | undefined {
  if (typeof input === 'number') return Number.isSafeInteger(input) && input >= 0 ? input : undefined
  if (typeof input !== 'string' || input === '') return undefined
  const match = DURATION.exec(input)
  if (!match) return undefined
  let ms = 0
  for (const [index, [, unitMs]] of UNITS.entries()) ms += Number(match[index + 1] ?? 0) * unitMs
  return Number.isSafeInteger(ms) ? ms : undefined
}

/** A text that `parseDuration` reads as these whole milliseconds, such as `1h30m`; weeks only where nothing is left: `30d`. */
export function durationText(ms: number): string {
  let rest = ms
  const units = UNITS.filter(([unit, unitMs]) => unit !== 'w' || ms % unitMs === 0)
  const parts = units.map(([unit, unitMs]) => {
    const count = Math.floor(rest / unitMs)
    rest -= count * unitMs
    return count === 0 ? '' : `${count}${unit}`
  })
  return parts.join('') || '0s'
}
