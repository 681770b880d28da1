import { html, type TemplateResult } from 'lit'
import { formatNumber, icon, plural, rich, t } from 'patchbay/console'
import type { Found } from './api.ts'
import type { Level } from './levels.ts'
import type { ParsedQuery, QueryMistake } from './query.ts'
import type { ColumnName, Part } from './view.ts'

const ICONS: Readonly<Record<Level, string>> = {
  ERROR: 'octagon-x',
  WARN: 'triangle-alert',
  INFO: 'info',
  DEBUG: 'bug',
  TRACE: 'footprints',
}

/** A level as icon and word. */
export function levelMark(level: Level): TemplateResult {
  return html`<span class="lvl ${level.toLowerCase()}">${icon(ICONS[level] ?? 'info')}${level}</span>`
}

/** Heading of a column. */
export function columnLabel(name: ColumnName): string {
  const labels: Readonly<Record<ColumnName, string>> = {
    server: t('Server'),
    tool: t('Tool'),
    component: t('Component'),
    status: t('Status'),
    outcome: t('Outcome'),
    requestId: t('Request'),
    duration: t('ms'),
  }
  return labels[name]
}

/** Text of a tool call's outcome. */
export function outcomeLabel(outcome: string): string {
  const labels: Readonly<Record<string, string>> = {
    ok: t('Succeeded'),
    tool_error: t('Tool failed'),
    upstream_error: t('Server failed'),
    timeout: t('Timed out'),
    refused: t('Refused by the hub'),
    blocked: t('Blocked by a plugin'),
    cancelled: t('Cancelled'),
  }
  return labels[outcome] ?? outcome
}

/** Text for a part of the query, in the list of parts that may exclude all records. */
export function partLabel({ kind, text }: Part): string {
  if (kind === 'levels') return t('Levels {list}', { list: text })
  if (kind === 'time') return t('the chosen time')
  if (kind === 'server') return t('Server {name}', { name: text })
  if (kind === 'tag') return t('Tag {name}', { name: text })
  if (kind === 'tool') return t('Tool {name}', { name: text })
  if (kind === 'user') return t('User {name}', { name: text })
  if (kind === 'outcome') return t('Outcome {name}', { name: outcomeLabel(text) })
  return kind === 'requestId' ? t('Request {name}', { name: text }) : text
}

/** Position and text of a query's error, and the query that the list shows meanwhile. */
export function mistakeText(text: string, { terms, mistake }: ParsedQuery): TemplateResult | undefined {
  if (!mistake) return undefined
  const kept = terms.map(({ start, end }) => text.slice(start, end)).join(' ')
  return html`${t('Position {n}:', { n: mistake.position })} ${reason(mistake)}${
    mistake.instead === undefined ? '' : html` ${rich('Write {text}.', { text: mono(mistake.instead) })}`
  } ${
    kept === '' ? t('The list shows everything meanwhile.') : rich('The list still shows {text}.', { text: mono(kept) })
  }`
}

function mono(text: string): TemplateResult {
  return html`<span class="mono">${text}</span>`
}

function reason({ kind, found }: QueryMistake): string {
  const quoted = { text: found }
  const texts: Readonly<Record<QueryMistake['kind'], string>> = {
    equals: t('“=” is not known here.'),
    field: t('There is no field “{text}”.', quoted),
    level: t('“{text}” is no level. There are ERROR, WARN, INFO, DEBUG and TRACE.', quoted),
    duration: t('“{text}” is no duration. Write milliseconds, or such as 2s.', quoted),
    time: t('“{text}” is no time. Write such as 2026-11-22T09:30:00Z.', quoted),
    empty: t('A value is missing.'),
    quote: t('The quotation mark is not closed.'),
    bracket: t('The bracket is not closed.'),
    choice: t('A choice in brackets needs a field in front, such as server:(a or b).'),
    long: t('A query has at most 100 terms of 256 characters.'),
  }
  return texts[kind]
}

/** Number of shown records out of all: "First 1,000 of 48,210". */
export function extentText(shown: number, found: Found): string {
  const { total, totalIsExact, nextCursor } = found
  if (totalIsExact && shown >= total) return plural(shown, '{n} record', '{n} records')
  if (totalIsExact) return t('First {n} of {total}', { n: shown, total })
  if (total >= 10_000) return t('First {n} of more than {total}', { n: shown, total })
  if (nextCursor === undefined) return plural(shown, '{n} record', '{n} records')
  return t('First {n}; looking for more ended after its time', { n: shown })
}

/** The number of matches for the head of the histogram. */
export function totalText({ total, totalIsExact }: Found): string {
  if (totalIsExact) return plural(total, '{n} record', '{n} records')
  return total >= 10_000
    ? t('More than {n} records', { n: total })
    : t('At least {n} records', { n: formatNumber(total) })
}
