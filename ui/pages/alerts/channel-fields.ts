import { html, nothing, type TemplateResult } from 'lit'
import type { JsonSchema } from '../../api/alerts.ts'
import type { ApiError } from '../../api/problem.ts'
import { codeWords } from '../../text/code-words.ts'
import { icon } from '../../text/icon.ts'
import { fieldText } from '../../text/problem.ts'
import { schemaText } from '../../text/schema-text.ts'
import { t } from '../../text/t.ts'

/** Values of a form by their path in the configuration, as text. */
export type Config = Readonly<Record<string, unknown>>

const SECRETS = /^(url|webhook|secret|pass|password|token)$/

interface FieldsOptions {
  readonly schema: JsonSchema
  readonly config: Config
  readonly path: readonly string[]
  readonly withheld: readonly string[]
  readonly disabled: boolean
  readonly error: ApiError | undefined
  readonly change: (path: readonly string[], value: unknown) => void
}

/** The fields of a channel's configuration, required ones first. */
export function configFields(options: FieldsOptions): TemplateResult[] {
  const { schema, path, withheld } = options
  const entries = Object.entries(schema.properties ?? {}).filter(
    ([name]) => path.length > 0 || !withheld.includes(name),
  )
  const required = new Set(schema.required)
  return entries
    .toSorted(([left], [right]) => Number(required.has(right)) - Number(required.has(left)))
    .map(([name, one]) => field(options, name, one, required.has(name)))
}

function field(options: FieldsOptions, name: string, schema: JsonSchema, required: boolean): TemplateResult {
  const { config, path, disabled, error, change } = options
  const here = [...path, name]
  const value = config[name]
  if (schema.type === 'object' && schema.properties) {
    const inner = { ...options, schema, path: here, config: (value ?? {}) as Config }
    return html`<fieldset class="field grp"><legend class="lbl">${label(name, schema, required)}</legend><div class="stack l">${configFields(inner)}</div></fieldset>`
  }
  if (schema.type === 'boolean') {
    return html`<label class="chk"><input type="checkbox" .checked=${value === true} ?disabled=${disabled} @change=${(event: Event) => change(here, (event.target as HTMLInputElement).checked || undefined)}><span>${label(name, schema, true)} <span class="q xs">${schemaText(schema, 'description')}</span></span></label>`
  }
  const id = `cfg-${here.join('-')}`
  const mistake = error?.fields.find(({ pointer }) => pointer.replace('#', '') === `/config/${here.join('/')}`)
  const set = (event: Event): void => change(here, read(schema, event.target as HTMLInputElement))
  const control = controlOf({ id, name, schema, value, required, disabled, isWrong: mistake !== undefined, set })
  return html`<div class="field"><label for=${id}>${label(name, schema, required)}</label>${control}${
    mistake
      ? html`<p class="hint bad">${icon('circle-alert')}${fieldText(mistake)}</p>`
      : html`<p class="hint">${codeWords(hint(schema))}</p>`
  }</div>`
}

interface Control {
  readonly id: string
  readonly name: string
  readonly schema: JsonSchema
  readonly value: unknown
  readonly required: boolean
  readonly disabled: boolean
  readonly isWrong: boolean
  readonly set: (event: Event) => void
}

function controlOf(control: Control): TemplateResult {
  const { id, schema, value, disabled, isWrong, set } = control
  if (schema.enum) {
    return html`<select id=${id} class="in" ?disabled=${disabled} @change=${set}><option value=""></option>${schema.enum.map(one => html`<option value=${one} ?selected=${one === value}>${one}</option>`)}</select>`
  }
  if (schema.type === 'array' || schema.type === 'object') {
    return html`<textarea id=${id} class="in code ${isWrong ? 'err' : ''}" rows="3" spellcheck="false" ?disabled=${disabled} .value=${listText(value)} @change=${set}></textarea>`
  }
  return textInput(control)
}

function textInput({ id, name, schema, value, required, disabled, isWrong, set }: Control): TemplateResult {
  const shown = schema.type === 'integer' ? 'number' : 'text'
  return html`<input id=${id} class="in ${SECRETS.test(name) ? 'code' : ''} ${isWrong ? 'err' : ''}" type=${schema.writeOnly ? 'password' : shown} autocomplete="off" spellcheck="false" ?required=${required} ?disabled=${disabled}
    aria-invalid=${isWrong ? 'true' : nothing} .value=${value === undefined ? '' : String(value)} @input=${set}>`
}

function label(name: string, schema: JsonSchema, required: boolean): unknown {
  const title = schemaText(schema, 'title')
  return html`${title === '' ? name : title}${required ? nothing : html` <span class="o">${t('optional')}</span>`}`
}

function hint(schema: JsonSchema): string {
  const { type } = schema
  if (type === 'array') return t('One on each line.')
  if (type === 'object') return t('One on each line: name: value')
  return schemaText(schema, 'description')
}

/** Lists and maps of texts as lines. */
function listText(value: unknown): string {
  if (Array.isArray(value)) return value.join('\n')
  if (typeof value !== 'object' || value === null) return ''
  return Object.entries(value)
    .map(([name, one]) => `${name}: ${String(one)}`)
    .join('\n')
}

function read({ type }: JsonSchema, input: HTMLInputElement): unknown {
  const text = input.value
  if (text.trim() === '') return undefined
  if (type === 'integer' || type === 'number') return Number(text)
  const lines = text.split('\n').filter(line => line.trim() !== '')
  if (type === 'array') return lines.map(line => line.trim())
  if (type !== 'object') return text.trim()
  return Object.fromEntries(
    lines.map(line => {
      const at = line.indexOf(':')
      return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

/** A configuration with one value changed; undefined takes it out, and objects that are empty then. */
export function withValue(config: Config, [name = '', ...rest]: readonly string[], value: unknown): Config {
  const { [name]: before, ...others } = config
  const next = rest.length === 0 ? value : withValue((before ?? {}) as Config, rest, value)
  const isEmpty = next === undefined || (rest.length > 0 && Object.keys(next as object).length === 0)
  return isEmpty ? others : { ...others, [name]: next }
}
