import type { TemplateResult } from 'lit'
import { html, nothing } from 'lit'
import { visibleName } from '../../../core/domain/text/visible-text.ts'
import { codeWords } from '../../text/code-words.ts'
import { formatNumber } from '../../text/format.ts'
import { icon } from '../../text/icon.ts'
import { schemaText } from '../../text/schema-text.ts'
import { plural, t } from '../../text/t.ts'
import type { JsonSchema, Path } from './json-value.ts'
import type { Resolved, SchemaReader } from './schema.ts'

/** State that the parts of a form share with their element. */
export interface FormContext {
  readonly reader: SchemaReader
  readonly disabled: boolean
  /** Value at a path. */
  get(path: Path): unknown
  /** Changes the value; undefined takes it out. */
  set(path: Path, value: unknown): void
  /** Entered text that is not a value yet, such as `1e`. */
  draft(path: Path): string | undefined
  setDraft(path: Path, text: string | undefined): void
  /** Index of the picked shape of a choice. */
  choice(path: Path): number | undefined
  setChoice(path: Path, index: number): void
  /** From now on mistakes of this field are shown. */
  left(path: Path): void
  /** The mistake to show at a field. */
  problem(path: Path): string | undefined
  /** Id of the field of a path, the same in every rendering. */
  idOf(path: Path): string
  /** Draws a part; within the limits of the form. */
  draw(field: Field): unknown
}

/** A part of a form to be drawn. */
export interface Field {
  readonly schema: unknown
  readonly path: Path
  readonly name: string
  readonly required: boolean
  /** True if the name is already visible elsewhere: the label is only for screen readers. */
  readonly quiet?: true
}

/** A field with its label before and its hint or error after it; `control` gets the id. */
export function fieldFrame(form: FormContext, field: Field, resolved: Resolved, control: unknown): TemplateResult {
  const id = form.idOf(field.path)
  return html`<div class="field"><label for=${id} class=${field.quiet ? 'vh' : ''}>${labelOf(field, resolved)}</label>${control}${hints(form, field, resolved)}</div>`
}

/** Name or title of a field, followed by its type and limits. */
export function labelOf(field: Field, resolved: Resolved): unknown {
  const notes = [field.required ? t('required') : '', kindNote(resolved), defaultNote(resolved.schema)].filter(
    note => note !== '',
  )
  return html`${visibleName(field.name)}${notes.length === 0 ? nothing : html` <span class="o">${notes.join(', ')}</span>`}`
}

/** Description of a field, or its mistake. */
export function hints(form: FormContext, { path }: Field, { schema }: Resolved): unknown {
  const problem = form.problem(path)
  const id = `${form.idOf(path)}-hint`
  if (problem !== undefined) return html`<p class="hint bad" id=${id}>${icon('circle-x')}${problem}</p>`
  const description = schemaText(schema, 'description')
  return description !== '' ? html`<p class="hint" id=${id}>${codeWords(shortened(description))}</p>` : nothing
}

/** Attributes that a field has in common with the others. */
export function marks(
  form: FormContext,
  { path, required }: Field,
  { schema }: Resolved,
): {
  readonly id: string
  readonly invalid: 'true' | typeof nothing
  readonly hint: string | typeof nothing
  readonly required: 'true' | typeof nothing
} {
  const problem = form.problem(path)
  const hasHint = problem !== undefined || typeof schema.description === 'string'
  return {
    id: form.idOf(path),
    invalid: problem === undefined ? nothing : 'true',
    hint: hasHint ? `${form.idOf(path)}-hint` : nothing,
    required: required ? 'true' : nothing,
  }
}

function shortened(text: string): string {
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}

const FORMATS: Readonly<Record<string, string>> = { uri: 'URI', url: 'URL', uuid: 'UUID', ipv4: 'IPv4', ipv6: 'IPv6' }

/** Type and limits of a field: "1 to 100", "one of 4", "URI", "text". */
function kindNote({ schema, kind, branches }: Resolved): string {
  if (kind === 'enum') return plural((schema.enum as unknown[]).length, 'one of {n}', 'one of {n}')
  if (kind === 'choice') return t('one of {n} shapes', { n: branches.length })
  if (kind === 'number' || kind === 'integer') return rangeNote(schema, kind)
  if (kind === 'boolean') return t('true or false')
  if (kind === 'array') return t('list')
  if (kind === 'text') return textNote(schema.format)
  return kind === 'json' ? 'JSON' : ''
}

function textNote(format: unknown): string {
  if (format === 'date') return t('date')
  if (format === 'date-time') return t('date and time')
  if (format === 'email') return t('mail address')
  return FORMATS[String(format)] ?? t('text')
}

function rangeNote(schema: JsonSchema, kind: 'number' | 'integer'): string {
  const { minimum: from, maximum: to } = schema
  if (typeof from === 'number' && typeof to === 'number') return t('{from} to {to}', { from, to })
  if (typeof from === 'number') return t('at least {n}', { n: from })
  if (typeof to === 'number') return t('at most {n}', { n: to })
  return kind === 'integer' ? t('whole number') : t('number')
}

function defaultNote(schema: JsonSchema): string {
  const { default: value } = schema
  if (value === undefined || typeof value === 'object' || value === '') return ''
  const text = typeof value === 'number' ? formatNumber(value, 10) : String(value)
  return text.length > 30 ? '' : t('default {value}', { value: visibleName(text) })
}
