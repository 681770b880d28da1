const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
}

/** The factor of each unit in lower case, with and without its `b`: `100M` is `100MB`. */
const FACTORS = new Map(
  Object.entries(UNITS).flatMap(([unit, factor]) => {
    const word = unit.toLowerCase()
    return [[word, factor] as const, [word.slice(0, -1), factor] as const]
  }),
)

/**
 * A size in bytes: `"100MB"` or `"100M"` (decimal), `"10MiB"` (binary), `"512B"`, or whole bytes as a number or as digits alone.
 * Whole numbers, one unit in any letter case, no space; undefined for anything else.
 */
export function parseSize(input: unknown): number | undefined {
  if (typeof input === 'number') return Number.isSafeInteger(input) && input >= 0 ? input : undefined
  if (typeof input !== 'string') return undefined
  const [, digits, unit = ''] = /^(\d+)([a-z]*)$/i.exec(input) ?? []
  const factor = FACTORS.get(unit.toLowerCase())
  if (digits === undefined || factor === undefined) return undefined
  const bytes = Number(digits) * factor
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

/** The shortest text that `parseSize` reads as these whole bytes, such as `100MB` or `10MiB`. */
export function exactSize(bytes: number): string {
  const whole = Object.entries(UNITS).filter(([, unit]) => bytes >= unit && bytes % unit === 0)
  return whole.map(([unit, one]) => `${bytes / one}${unit}`).sort((a, b) => a.length - b.length)[0] ?? `${bytes}B`
}

const TEXT_UNITS = ['B', 'kB', 'MB', 'GB', 'TB', 'PB']

/** A size for people, in decimal units with one digit after the point: `87.2 MB`. */
export function sizeText(bytes: number): string {
  let [value, unit] = [bytes, 0]
  while (value >= 999.95 && unit < TEXT_UNITS.length - 1) {
    value /= 1_000
    unit += 1
  }
  return unit === 0 ? `${Math.round(value)} B` : `${value.toFixed(1)} ${TEXT_UNITS[unit]}`
}

/** A ratio as a text in percent, with one digit after the point: `12.5%`. */
export function percentText(ratio: number): string {
  return `${(ratio * 100).toFixed(1)}%`
}
