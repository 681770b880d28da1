import { html, nothing } from 'lit'
import { visibleName } from '../../../core/domain/text/visible-text.ts'
import { t } from '../../text/t.ts'
import { jsonMistake } from '../json/lines.ts'
import { type Field, type FormContext, fieldFrame, hints, labelOf, marks } from './context.ts'
import type { Resolved } from './schema.ts'

/** True when two of these fields fit beside each other. */
export function isShort({ kind, schema }: Resolved): boolean {
  if (typeof schema.description === 'string' && schema.description.length > 80) return false
  return kind === 'number' || kind === 'integer' || kind === 'enum'
}

/** A text, in one line, in several, or hidden. */
export function textField(form: FormContext, field: Field, resolved: Resolved): unknown {
  const { schema } = resolved
  const value = form.get(field.path)
  const text = typeof value === 'string' ? value : ''
  // An empty optional text counts as absent; a required one may be empty.
  const change = (event: Event): void => {
    const next = (event.target as HTMLInputElement).value
    form.set(field.path, next === '' && !field.required ? undefined : next)
  }
  const { id, invalid, hint, required } = marks(form, field, resolved)
  const left = (): void => form.left(field.path)
  const isSecret = schema.writeOnly === true || schema.format === 'password'
  const isCode = ['uri', 'url', 'uuid', 'regex'].includes(String(schema.format))
  const control =
    isLong(schema, text) && (!isSecret || isPem(schema))
      ? html`<textarea id=${id} class="in grows ${invalid === nothing ? '' : 'err'}" rows="2" .value=${text} ?disabled=${form.disabled} aria-invalid=${invalid}
          aria-describedby=${hint} aria-required=${required} @input=${change} @blur=${left}></textarea>`
      : html`<input id=${id} class="in ${isCode ? 'code' : ''} ${invalid === nothing ? '' : 'err'}" type=${isSecret ? 'password' : inputType(schema.format)}
          autocomplete=${isSecret ? 'new-password' : 'off'} .value=${text} placeholder=${placeholderOf(schema)} ?disabled=${form.disabled} aria-invalid=${invalid}
          aria-describedby=${hint} aria-required=${required} @input=${change} @blur=${left}>`
  return fieldFrame(form, field, resolved, control)
}

/** PEM has line ends, which a field of one line would remove. */
function isPem({ format }: Readonly<Record<string, unknown>>): boolean {
  return format === 'certificates' || format === 'private-key'
}

function isLong({ maxLength, format }: Readonly<Record<string, unknown>>, text: string): boolean {
  if (text.includes('\n') || text.length > 80) return true
  return format === 'textarea' || (typeof maxLength === 'number' && maxLength > 1000)
}

function inputType(format: unknown): string {
  return format === 'date' ? 'date' : 'text'
}

function placeholderOf({ examples, default: value }: Readonly<Record<string, unknown>>): string | typeof nothing {
  const example = Array.isArray(examples) ? examples[0] : value
  return typeof example === 'string' || typeof example === 'number' ? String(example).slice(0, 80) : nothing
}

/** A number field; invalid text stays as typed until it is a number. */
export function numberField(form: FormContext, field: Field, resolved: Resolved): unknown {
  const value = form.get(field.path)
  const text = form.draft(field.path) ?? (typeof value === 'number' ? String(value) : '')
  const change = (event: Event): void => {
    const typed = (event.target as HTMLInputElement).value.trim()
    const number = Number(typed)
    const isNumber = typed !== '' && Number.isFinite(number)
    form.setDraft(field.path, typed === '' || String(number) === typed ? undefined : typed)
    // A text that is not a number is kept as a value that the check rejects, so that it is never sent as another one.
    form.set(field.path, typed === '' ? undefined : isNumber ? number : typed)
  }
  const { id, invalid, hint, required } = marks(form, field, resolved)
  return fieldFrame(
    form,
    field,
    resolved,
    html`<input id=${id} class="in num ${invalid === nothing ? '' : 'err'}" inputmode="decimal" autocomplete="off" .value=${text} placeholder=${placeholderOf(resolved.schema)}
      ?disabled=${form.disabled} aria-invalid=${invalid} aria-describedby=${hint} aria-required=${required} @input=${change} @blur=${() => form.left(field.path)}>`,
  )
}

/** A box to check. */
export function booleanField(form: FormContext, field: Field, resolved: Resolved): unknown {
  const { id, invalid, hint } = marks(form, field, resolved)
  return html`<div class="field"><span class="chk"><input id=${id} type="checkbox" .checked=${form.get(field.path) === true} ?disabled=${form.disabled}
      aria-invalid=${invalid} aria-describedby=${hint} @change=${(event: Event) => form.set(field.path, (event.target as HTMLInputElement).checked)}><label
      class="lbl" for=${id}>${labelOf(field, resolved)}</label></span>${hints(form, field, resolved)}</div>`
}

/** One of several values. */
export function enumField(form: FormContext, field: Field, resolved: Resolved): unknown {
  const values = resolved.schema.enum as readonly unknown[]
  const { enumNames } = resolved.schema
  const names = Array.isArray(enumNames) ? enumNames : values
  const present = values.indexOf(form.get(field.path))
  const change = (event: Event): void => {
    const at = (event.target as HTMLSelectElement).value
    form.set(field.path, at === '' ? undefined : values[Number(at)])
    form.left(field.path)
  }
  const { id, invalid, hint, required } = marks(form, field, resolved)
  return fieldFrame(
    form,
    field,
    resolved,
    html`<select id=${id} class="in ${invalid === nothing ? '' : 'err'}" ?disabled=${form.disabled} aria-invalid=${invalid} aria-describedby=${hint} aria-required=${required}
      @change=${change}><option value="" ?selected=${present < 0}>${field.required ? t('Choose') : t('not set')}</option>${values.map(
        (value, at) =>
          html`<option translate="no" value=${String(at)} ?selected=${at === present}>${value === null ? 'null' : visibleName(String(names[at] ?? value))}</option>`,
      )}</select>`,
  )
}

/** The one value that is allowed. */
export function constField(form: FormContext, field: Field, resolved: Resolved): unknown {
  const text = JSON.stringify(resolved.schema.const)
  return fieldFrame(
    form,
    field,
    resolved,
    html`<input id=${form.idOf(field.path)} class="in code" readonly .value=${text}>`,
  )
}

/** Raw JSON, for parts that have no fields of their own. */
export function jsonField(form: FormContext, field: Field, resolved: Resolved): unknown {
  const value = form.get(field.path)
  const text = form.draft(field.path) ?? (value === undefined ? '' : JSON.stringify(value, null, 2))
  const mistake = text.trim() === '' ? undefined : jsonMistake(text)
  const change = (event: Event): void => {
    const typed = (event.target as HTMLTextAreaElement).value
    form.setDraft(field.path, typed)
    if (typed.trim() === '') form.set(field.path, undefined)
    else if (!jsonMistake(typed)) form.set(field.path, JSON.parse(typed))
  }
  const { id, hint, required } = marks(form, field, resolved)
  return html`${fieldFrame(
    form,
    field,
    resolved,
    html`<textarea id=${id} class="in code ${mistake ? 'err' : ''}" rows="4" spellcheck="false" .value=${text} ?disabled=${form.disabled} aria-describedby=${hint}
      aria-invalid=${mistake ? 'true' : nothing} aria-required=${required} @input=${change} @blur=${() => form.left(field.path)}></textarea>`,
  )}${mistake ? html`<p class="hint bad">${mistake.message}</p>` : nothing}`
}
