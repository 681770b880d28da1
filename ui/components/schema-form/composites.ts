import { html, nothing } from 'lit'
import { icon } from '../../text/icon.ts'
import { schemaText } from '../../text/schema-text.ts'
import { t } from '../../text/t.ts'
import { fits } from './check.ts'
import { type Field, type FormContext, hints, labelOf } from './context.ts'
import { isShort, jsonField } from './fields.ts'
import { initialValue } from './initial.ts'
import { isObject } from './json-value.ts'
import { type Property, propertiesOf, type Resolved } from './schema.ts'

/** Longer lists are edited as raw JSON. */
const MOST_ENTRIES = 100

/** The fields of an object without a frame: short ones are drawn in pairs. */
export function fieldsOf(form: FormContext, resolved: Resolved, path: Field['path']): unknown {
  const rows: unknown[] = []
  let pair: Property[] = []
  const draw = ({ name, schema, required }: Property): unknown => {
    const title = schemaText(form.reader.read(schema).schema, 'title')
    // A title helps if a name is cryptic, but the tool's description uses the name.
    const label = title !== '' && title.length < 60 ? title : name
    return form.draw({ schema, path: [...path, name], name: label, required })
  }
  const flush = (): void => {
    const [first] = pair
    if (pair.length === 1 && first) rows.push(draw(first))
    else if (pair.length > 1) rows.push(html`<div class="form2">${pair.map(draw)}</div>`)
    pair = []
  }
  for (const property of propertiesOf(resolved.schema)) {
    if (!isShort(form.reader.read(property.schema))) {
      flush()
      rows.push(draw(property))
    } else {
      pair.push(property)
      if (pair.length === 2) flush()
    }
  }
  flush()
  return rows
}

/** An object in a frame; an optional one that is absent is a button that adds it. */
export function objectField(form: FormContext, field: Field, resolved: Resolved): unknown {
  const value = form.get(field.path)
  if (!isObject(value) && !field.required) return addButton(form, field, resolved)
  return html`<fieldset class="field sfbox" id=${form.idOf(field.path)}><legend class="lbl">${labelOf(field, resolved)}${
    field.required ? nothing : removeButton(form, field)
  }</legend>${hints(form, field, resolved)}${fieldsOf(form, resolved, field.path)}</fieldset>`
}

function addButton(form: FormContext, field: Field, resolved: Resolved): unknown {
  const add = (): void => form.set(field.path, initialValue(form.reader, field.schema) ?? {})
  return html`<div class="field"><span class="lbl">${labelOf(field, resolved)}</span>${hints(form, field, resolved)}<span><button type="button" class="btn sm"
    id=${form.idOf(field.path)} ?disabled=${form.disabled} @click=${add}>${icon('plus')}${t('Add {name}', { name: field.name })}</button></span></div>`
}

function removeButton(form: FormContext, { path, name }: Pick<Field, 'path' | 'name'>): unknown {
  const label = t('Remove {name}', { name })
  return html`<button type="button" class="btn ghost sm ico" aria-label=${label} title=${label} ?disabled=${form.disabled}
    @click=${() => form.set(path, undefined)}>${icon('x')}</button>`
}

/** A list: its entries one below the other, and a button for one more. */
export function arrayField(form: FormContext, field: Field, resolved: Resolved): unknown {
  const value = form.get(field.path)
  const entries: readonly unknown[] = Array.isArray(value) ? value : []
  if (entries.length > MOST_ENTRIES || (value !== undefined && !Array.isArray(value)))
    return jsonField(form, field, resolved)
  const { items, maxItems } = resolved.schema
  const add = (): void => {
    const { kind } = form.reader.read(items)
    const fresh = initialValue(form.reader, items) ?? (kind === 'text' ? '' : null)
    form.set(field.path, [...entries, fresh])
  }
  const isFull = typeof maxItems === 'number' && entries.length >= maxItems
  return html`<fieldset class="field sfbox" id=${form.idOf(field.path)}><legend class="lbl">${labelOf(field, resolved)}</legend>${hints(form, field, resolved)}
    ${entries.map((_, at) => {
      const path = [...field.path, at]
      const name = String(at + 1)
      return html`<div class="sfentry"><div class="grow">${form.draw({ schema: items, path, name, required: true, quiet: true })}</div>${removeButton(form, { path, name })}</div>`
    })}<span><button type="button" class="btn sm" ?disabled=${form.disabled || isFull} @click=${add}>${icon('plus')}${t('Add entry')}</button></span></fieldset>`
}

/** An object of free names. */
export function mapField(form: FormContext, field: Field, resolved: Resolved): unknown {
  const value = form.get(field.path)
  const entries = isObject(value) ? Object.entries(value) : []
  if (entries.length > MOST_ENTRIES) return jsonField(form, field, resolved)
  const { additionalProperties: part } = resolved.schema
  const rename =
    (from: string) =>
    (event: Event): void => {
      const input = event.target as HTMLInputElement
      const to = input.value.trim()
      if (to === '' || entries.some(([key]) => key === to)) input.value = from
      else form.set(field.path, Object.fromEntries(entries.map(([key, one]) => [key === from ? to : key, one])))
    }
  const add = (): void => {
    let number = entries.length + 1
    while (entries.some(([key]) => key === `name${number}`)) number += 1
    form.set(field.path, Object.fromEntries([...entries, [`name${number}`, initialValue(form.reader, part) ?? '']]))
  }
  return html`<fieldset class="field sfbox" id=${form.idOf(field.path)}><legend class="lbl">${labelOf(field, resolved)}</legend>${hints(form, field, resolved)}
    ${entries.map(([name]) => {
      const path = [...field.path, name]
      return html`<div class="sfentry"><input class="in code sfkey" .value=${name} aria-label=${t('Name of the entry')} ?disabled=${form.disabled} @change=${rename(name)}>
        <div class="grow">${form.draw({ schema: part, path, name, required: true, quiet: true })}</div>${removeButton(form, { path, name })}</div>`
    })}<span><button type="button" class="btn sm" ?disabled=${form.disabled} @click=${add}>${icon('plus')}${t('Add entry')}</button></span></fieldset>`
}

/** A choice of several shapes: the shape is picked first, its fields are below. */
export function choiceField(form: FormContext, field: Field, resolved: Resolved): unknown {
  const { branches } = resolved
  const value = form.get(field.path)
  const guessed = value === undefined ? -1 : branches.findIndex(branch => fits(form.reader, branch, value))
  const present = form.choice(field.path) ?? (guessed < 0 && field.required ? 0 : guessed)
  const id = form.idOf(field.path)
  const pick = (at: number): void => {
    form.setChoice(field.path, at)
    form.set(field.path, at < 0 ? undefined : initialValue(form.reader, branches[at]))
  }
  const radio = (at: number, label: string): unknown =>
    html`<label class="chk"><input type="radio" name=${id} .checked=${present === at} ?disabled=${form.disabled} @change=${() => pick(at)}><span>${label}</span></label>`
  const branch = branches[present]
  return html`<fieldset class="field sfbox" id=${id}><legend class="lbl">${labelOf(field, resolved)}</legend>${hints(form, field, resolved)}
    ${field.required ? nothing : radio(-1, t('not set'))}${branches.map((one, at) => radio(at, shapeName(form, one, at)))}
    ${branch ? form.draw({ schema: branch, path: field.path, name: shapeName(form, branch, present), required: true }) : nothing}</fieldset>`
}

function shapeName(form: FormContext, branch: unknown, at: number): string {
  const { schema, kind } = form.reader.read(branch)
  const title = schemaText(schema, 'title')
  if (title !== '') return title
  if (kind === 'text') return t('Text')
  if (kind === 'number' || kind === 'integer') return t('Number')
  if (kind === 'boolean') return t('True or false')
  if (kind === 'array') return t('List')
  const tagged = propertiesOf(schema).map(property => form.reader.read(property.schema).schema.const)
  const tag = tagged.find(value => typeof value === 'string')
  return typeof tag === 'string' ? tag : t('Shape {n}', { n: at + 1 })
}
