import { html, nothing, type PropertyValues } from 'lit'
import type { FieldProblem } from '../../api/problem.ts'
import { t } from '../../text/t.ts'
import { PbElement } from '../element.ts'
import { problemsOf } from './check.ts'
import { arrayField, choiceField, fieldsOf, mapField, objectField } from './composites.ts'
import type { Field, FormContext } from './context.ts'
import { booleanField, constField, enumField, jsonField, numberField, textField } from './fields.ts'
import { initialValue } from './initial.ts'
import { isObject, type Path, pointerOf, valueAt, withValue } from './json-value.ts'
import { DEEPEST, type FieldKind, type Resolved, SchemaReader } from './schema.ts'

/** Number of fields that one form draws; the others are raw JSON. */
const MOST_DRAWN = 500
let forms = 0

const PARTS: Readonly<Record<FieldKind, (form: FormContext, field: Field, resolved: Resolved) => unknown>> = {
  text: textField,
  number: numberField,
  integer: numberField,
  boolean: booleanField,
  enum: enumField,
  const: constField,
  array: arrayField,
  object: objectField,
  map: mapField,
  choice: choiceField,
  json: jsonField,
}

/** Detail of `pb-change`. */
export interface SchemaFormChange {
  readonly value: unknown
  /** Mistakes of the value, each with the JSON pointer of its field. */
  readonly problems: readonly FieldProblem[]
}

/**
 * Fields from a JSON Schema: required ones first, with limits, choices, lists, objects, defaults, descriptions, secrets, and
 * errors at their fields. Parts without fields (too deep, too large, free objects) are raw JSON. The value is the owner's:
 * `<pb-schema-form .schema=${schema} .value=${value} @pb-change=${event => (value = event.detail.value)}></pb-schema-form>`;
 * {@link newValue} makes the first one.
 *
 * `check()` shows every error, focuses the first and returns them: call it before sending. `problems` are errors that the hub
 * found.
 *
 * @fires pb-change - `detail: SchemaFormChange`, with every edit
 */
export class PbSchemaForm extends PbElement implements FormContext {
  static override properties = {
    schema: { attribute: false },
    value: { attribute: false },
    problems: { attribute: false },
    disabled: { type: Boolean },
  }
  declare schema: Readonly<Record<string, unknown>>
  declare value: unknown
  /** Errors found elsewhere, such as `errors` of the hub's answer. */
  declare problems: readonly FieldProblem[]
  declare disabled: boolean
  reader = new SchemaReader({})
  readonly #id = `sf${++forms}`
  readonly #drafts = new Map<string, string>()
  readonly #choices = new Map<string, number>()
  readonly #left = new Set<string>()
  #shown: ReadonlyMap<string, string> = new Map()
  #all = false
  #own: unknown
  #drawn = 0

  constructor() {
    super()
    this.schema = {}
    this.problems = []
    this.disabled = false
  }

  /** Shows all mistakes, focuses the first field that has one, and answers them. */
  check(): readonly FieldProblem[] {
    const problems = problemsOf(this.reader, this.schema, this.value)
    this.#all = true
    this.requestUpdate()
    const [first] = problems
    if (first) void this.updateComplete.then(() => this.focusField(first.pointer))
    return problems
  }

  /** Focuses the field of a pointer, or the nearest one around it. */
  focusField(pointer: string): void {
    for (let part = pointer; part !== ''; part = part.slice(0, part.lastIndexOf('/'))) {
      const field = document.getElementById(`${this.#id}${part}`)
      const target = field?.matches('fieldset')
        ? field.querySelector<HTMLElement>('input, select, textarea, button')
        : field
      if (target) return target.focus()
    }
  }

  protected override willUpdate(changed: PropertyValues): void {
    super.willUpdate(changed)
    if (changed.has('schema')) {
      this.reader = new SchemaReader(this.schema)
      this.#forget()
    } else if (changed.has('value') && this.value !== this.#own) this.#forget()
    const found = problemsOf(this.reader, this.schema, this.value).filter(
      ({ pointer }) => this.#all || this.#left.has(pointer),
    )
    this.#shown = new Map([...this.problems, ...found].map(({ pointer, detail }) => [pointer, detail]))
  }

  override render(): unknown {
    this.#drawn = 0
    const resolved = this.reader.read(this.schema)
    if (resolved.kind !== 'object') {
      return this.draw({ schema: this.schema, path: [], name: t('Value'), required: true })
    }
    const rows = fieldsOf(this, resolved, [])
    return Array.isArray(rows) && rows.length === 0
      ? html`<p class="hint">${t('Nothing is asked for.')}</p>`
      : (rows ?? nothing)
  }

  draw(field: Field): unknown {
    const resolved = this.reader.read(field.schema)
    this.#drawn += 1
    const isTooMuch = field.path.length > DEEPEST || this.#drawn > MOST_DRAWN
    return PARTS[isTooMuch ? 'json' : resolved.kind](this, field, resolved)
  }

  get(path: Path): unknown {
    return valueAt(this.value, path)
  }

  set(path: Path, next: unknown): void {
    const value = withValue(this.value ?? (path.length > 0 ? {} : undefined), path, next)
    this.#own = value
    this.value = value
    const detail: SchemaFormChange = { value, problems: problemsOf(this.reader, this.schema, value) }
    this.dispatchEvent(new CustomEvent('pb-change', { detail, bubbles: true }))
  }

  draft(path: Path): string | undefined {
    return this.#drafts.get(pointerOf(path))
  }

  setDraft(path: Path, text: string | undefined): void {
    if (text === undefined) this.#drafts.delete(pointerOf(path))
    else this.#drafts.set(pointerOf(path), text)
    this.requestUpdate()
  }

  choice(path: Path): number | undefined {
    return this.#choices.get(pointerOf(path))
  }

  setChoice(path: Path, index: number): void {
    this.#choices.set(pointerOf(path), index)
  }

  left(path: Path): void {
    this.#left.add(pointerOf(path))
    this.requestUpdate()
  }

  problem(path: Path): string | undefined {
    return this.#shown.get(pointerOf(path))
  }

  idOf(path: Path): string {
    return `${this.#id}${pointerOf(path)}`
  }

  #forget(): void {
    this.#drafts.clear()
    this.#choices.clear()
    this.#left.clear()
    this.#all = false
  }
}
customElements.define('pb-schema-form', PbSchemaForm)

/** A value to begin a form with: defaults, and the parts that are required and have one natural value. */
export function newValue(schema: Readonly<Record<string, unknown>>): unknown {
  const value = initialValue(new SchemaReader(schema), schema)
  return value ?? (isObject(schema) && schema.type === 'object' ? {} : undefined)
}

declare global {
  interface HTMLElementTagNameMap {
    'pb-schema-form': PbSchemaForm
  }
}
