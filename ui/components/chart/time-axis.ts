const formats = new Map<string, Intl.DateTimeFormat>()

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const locale = document.documentElement.lang || 'en'
  const key = `${locale} ${JSON.stringify(options)}`
  const known = formats.get(key) ?? new Intl.DateTimeFormat(locale, options)
  formats.set(key, known)
  return known
}

const DAY_S = 86_400

/** Formats a time below an axis that covers this many seconds, in the language and time zone of the reader. */
export function formatAxisTime(atMs: number, spanS: number): string {
  const time = new Date(atMs)
  if (spanS > 2 * DAY_S) return format({ day: 'numeric', month: 'short' }).format(time)
  if (spanS < 300)
    return format({ hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' }).format(time)
  return format({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(time)
}

/** A time in a row of a table, or under the pointer. */
export function formatPointTime(atMs: number): string {
  return format({
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).format(new Date(atMs))
}
