/** Numbers, times and sizes in the language and the time zone of the reader. */

const cache = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat | Intl.RelativeTimeFormat | Intl.Collator>()

function locale(): string {
  return document.documentElement.lang || 'en'
}

function numberFormat(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${locale()} n ${JSON.stringify(options)}`
  const known = cache.get(key) ?? new Intl.NumberFormat(locale(), options)
  cache.set(key, known)
  return known as Intl.NumberFormat
}

function dateFormat(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${locale()} d ${JSON.stringify(options)}`
  const known = cache.get(key) ?? new Intl.DateTimeFormat(locale(), options)
  cache.set(key, known)
  return known as Intl.DateTimeFormat
}

/** Placeholder for an unknown figure; show the reason beside it. */
export const UNKNOWN = '–'

/** `1,234.5`; at most `digits` behind the point, default 1. */
export function formatNumber(value: number, digits = 1): string {
  return numberFormat({ maximumFractionDigits: digits }).format(value)
}

/** In full to 9,999, then `12.3K`. */
export function formatCount(value: number): string {
  if (Math.abs(value) < 10_000) return numberFormat({ maximumFractionDigits: 0 }).format(value)
  return numberFormat({ notation: 'compact', maximumFractionDigits: 1 }).format(value)
}

/** `4.2 %` of a ratio from 0 to 1. */
export function formatPercent(ratio: number, digits = 1): string {
  return numberFormat({ style: 'percent', maximumFractionDigits: digits }).format(ratio)
}

const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** `3.1 kB`, in steps of 1,000. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let step = 0
  while (Math.abs(value) >= 1000 && step < BYTE_UNITS.length - 1) {
    value /= 1000
    step += 1
  }
  const unit = BYTE_UNITS[step] ?? 'byte'
  return numberFormat({ style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: value < 10 ? 1 : 0 }).format(
    value,
  )
}

/** `387 ms`, `2.8 s`. */
export function formatMs(ms: number): string {
  if (ms < 1000) return unit(ms, 'millisecond', ms < 10 ? 1 : 0)
  return unit(ms / 1000, 'second', ms < 10_000 ? 1 : 0)
}

const STEPS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1000, 'second'],
] as const

/** A span in its two largest units: `8 hr 42 min`. */
export function formatSpan(ms: number): string {
  if (ms < 1000) return unit(0, 'second', 0)
  const at = STEPS.findIndex(([size]) => ms >= size)
  const parts: string[] = []
  let rest = ms
  for (const [size, name] of STEPS.slice(at, at + 2)) {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count > 0 || parts.length === 0) parts.push(unit(count, name, 0))
  }
  return parts.join(' ')
}

function unit(value: number, name: string, digits: number): string {
  return numberFormat({ style: 'unit', unit: name, unitDisplay: 'short', maximumFractionDigits: digits }).format(value)
}

/** `14:32:05`, with milliseconds on request. */
export function formatClock(time: string | number | Date, milliseconds = false): string {
  const digits = milliseconds ? ({ fractionalSecondDigits: 3 } as const) : {}
  return dateFormat({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23', ...digits }).format(
    new Date(time),
  )
}

/** Date and time in full, with the zone. */
export function formatDateTime(time: string | number | Date): string {
  return dateFormat({ dateStyle: 'medium', timeStyle: 'long' }).format(new Date(time))
}

/** `13 Oct 2026`. */
export function formatDate(time: string | number | Date): string {
  return dateFormat({ dateStyle: 'medium' }).format(new Date(time))
}

/** `6 min. ago`, `in 4 sec.`. */
export function formatAgo(time: string | number | Date, now = Date.now()): string {
  const key = `${locale()} r`
  const known =
    (cache.get(key) as Intl.RelativeTimeFormat) ??
    new Intl.RelativeTimeFormat(locale(), { numeric: 'auto', style: 'short' })
  cache.set(key, known)
  const ms = new Date(time).getTime() - now
  const [size, name] = STEPS.find(([step]) => Math.abs(ms) >= step) ?? [1000, 'second' as const]
  return known.format(Math.trunc(ms / size), name)
}

/** Compares texts in the reader's language; numbers in them by their value. */
export function collator(): Intl.Collator {
  const key = `${locale()} c`
  const known = (cache.get(key) as Intl.Collator) ?? new Intl.Collator(locale(), { numeric: true })
  cache.set(key, known)
  return known
}
