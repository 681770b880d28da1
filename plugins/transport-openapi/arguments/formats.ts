import ipaddr from 'ipaddr.js'

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/
/** Dates of ISO 8601, as programs write it: many APIs take a time without a zone, or without seconds, so they judge it themselves. */
const TIME =
  /^([01]\d|2[0-3]):[0-5]\d(?::(?:[0-5]\d|60)(?:[.,]\d{1,20})?)? ?(?:Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?$/i
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Checks in linear time: each expression reads its text once. */
const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  'date-time': text =>
    isDate(text.slice(0, 10)) && (text.length === 10 || (/^.{10}[Tt ]/.test(text) && TIME.test(text.slice(11)))),
  uuid: text => UUID.test(text),
  email: text => text.length <= 320 && /^[^\s@]+@[^\s@]+$/.test(text),
  uri: text => /^[a-z][a-z0-9+.-]{0,63}:[^\s<>"{}|\\^`]+$/i.test(text),
  ipv4: text => text.length <= 15 && ipaddr.IPv4.isValidFourPartDecimal(text),
  ipv6: text => text.length <= 45 && !text.includes('%') && ipaddr.IPv6.isValid(text),
}

/** True when a text has this format of JSON Schema or OpenAPI; true for an unknown format. */
export function hasFormat(text: string, format: string): boolean {
  const test = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  return test === undefined || test(text)
}

function isDate(text: string): boolean {
  const [, year = '', month = '', day = ''] = DATE.exec(text) ?? []
  if (year === '') return false
  const date = new Date(Date.UTC(2000, 0, 1))
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}
