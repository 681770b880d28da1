import { formatBytes, formatCount, formatMs, formatNumber, formatPercent, UNKNOWN } from '../../text/format.ts'
import { t } from '../../text/t.ts'

/** Unit of a chart's numbers; `ratio` is from 0 to 1, `bytes` in steps of 1,000. */
export type ChartUnit = 'count' | 'per_minute' | 'per_second' | 'ms' | 'ratio' | 'bytes' | 'any'

/** A value with its unit, for a sentence or a figure; unknown is a dash. */
export function valueText(value: number | null | undefined, unit: ChartUnit): string {
  if (value == null) return UNKNOWN
  if (unit === 'ms') return formatMs(value)
  if (unit === 'ratio') return formatPercent(value)
  if (unit === 'bytes') return formatBytes(value)
  const number = Number.isInteger(value) ? formatCount(value) : formatNumber(value, value < 1 ? 2 : 1)
  if (unit === 'per_minute') return t('{value}/min', { value: number })
  return unit === 'per_second' ? t('{value}/s', { value: number }) : number
}

/** A value on an axis, whose unit is in the heading; a ratio and an amount of bytes have their own. */
export function axisText(value: number, unit: ChartUnit): string {
  if (unit === 'ratio') return formatPercent(value)
  if (unit === 'bytes') return formatBytes(value)
  return Math.abs(value) < 10_000 ? formatNumber(value, 2) : formatCount(value)
}

/** The unit as a word after the heading; empty if none is needed. */
export function unitWord(unit: ChartUnit): string {
  if (unit === 'ms') return t('ms')
  if (unit === 'per_minute') return t('a minute')
  if (unit === 'per_second') return t('a second')
  return unit === 'ratio' ? t('share of calls') : ''
}
