import { findNodeAtLocation, type Node, parseTree } from 'jsonc-parser'
import type { FieldProblem } from '../../api/problem.ts'
import { patched } from '../server/merge-patch.ts'

/** Result of `POST /api/servers/import?dryRun=true` for one entry. */
export interface Verdict {
  readonly name: string
  readonly verdict: 'new' | 'exists' | 'invalid' | 'created'
  readonly ref?: string
  /** Pointer to the entry in the document. */
  readonly at?: string
  readonly body?: Body
  /** Pointer of a masked secret in `body` → its pointer in the document. */
  readonly places?: Readonly<Record<string, string>>
  /** Pointer of a masked secret in `body` → its characters in the document, and the scheme before them. */
  readonly spans?: Readonly<Record<string, { readonly from: number; readonly to: number; readonly before?: string }>>
  /** Notes about settings that are left out or written in another form. */
  readonly warnings?: readonly string[]
  readonly pointer?: string
  readonly error?: {
    readonly code: string
    readonly detail: string
    readonly hint?: string
    readonly errors?: readonly FieldProblem[]
  }
}

/** The configuration of a server, as the API takes it. */
export type Body = Readonly<Record<string, unknown>>

/** Handling of an entry whose name is taken. */
export type IfExists = 'skip' | 'rename' | 'replace'

/** A value that the document leaves open, or that is secret. */
export interface Blank {
  /** Place of the value: a pointer in the body, or the name of a variable. */
  readonly target: { readonly pointer: string } | { readonly variable: string }
  readonly label: string
  readonly secret: boolean
  /** Text at this place in the document, such as `<YOUR_KEY>`. */
  readonly had: string | undefined
  /** True when it must be filled in before the server can work. */
  readonly missing: boolean
}

/** A place in a text, both from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

const MASK = '••••'
const PLACEHOLDER = /^(?:<[^<>]+>|YOUR[_-][A-Z0-9_-]+|\{\{[^{}]+\}\})$/
const REFERENCE = /\$\{([A-Za-z_][\w.-]*)\}/g
const SECRET_NAME = /key|token|secret|password|auth/i

/**
 * One entry of the pasted document on its way to a server: the configuration with the document's own secrets restored, the
 * values that a person has to fill in, and the handling of a taken name. The hub never returns secrets, so they are read from
 * the document here.
 */
export class Draft {
  readonly verdict: Verdict
  readonly blanks: readonly Blank[]
  /** Filled-in values by label. */
  readonly values: ReadonlyMap<string, string>
  readonly name: string
  readonly chosen: boolean
  readonly ifExists: IfExists
  readonly #config: Body

  private constructor(
    from: Pick<Draft, 'verdict' | 'blanks' | 'values' | 'name' | 'chosen' | 'ifExists'>,
    config: Body,
  ) {
    this.verdict = from.verdict
    this.blanks = from.blanks
    this.values = from.values
    this.name = from.name
    this.chosen = from.chosen
    this.ifExists = from.ifExists
    this.#config = config
  }

  static of(verdict: Verdict, document: string): Draft {
    const config = withSecrets(verdict, document)
    const blanks = blanksOf(verdict, config)
    const values = new Map<string, string>()
    for (const blank of blanks)
      if (!blank.missing && 'pointer' in blank.target)
        values.set(blank.label, String(valueAt(config, blank.target.pointer) ?? ''))
    const usable = verdict.verdict !== 'invalid' || onlyVariables(verdict)
    return new Draft(
      {
        verdict,
        blanks,
        values,
        name: verdict.name,
        chosen: verdict.verdict === 'new' || (usable && verdict.verdict === 'invalid'),
        ifExists: 'skip',
      },
      config,
    )
  }

  /** True when only values that a person enters can be missing. */
  get usable(): boolean {
    return this.verdict.body !== undefined && (this.verdict.verdict !== 'invalid' || onlyVariables(this.verdict))
  }

  /** The entry in the form that the hub suggests; undefined where it suggests none. */
  righted(document: string): Draft | undefined {
    const { error, pointer: _, body, ...verdict } = this.verdict
    const change = error?.errors?.[0]?.suggestion
    if (change === undefined || body === undefined) return undefined
    return Draft.of({ ...verdict, verdict: 'new', body: patched(body, change) }, document)
  }

  /** Values that must still be given. */
  get missing(): number {
    return this.blanks.filter(({ label, missing }) => missing && !this.values.get(label)).length
  }

  /** True when it will be saved. */
  get taken(): boolean {
    return this.chosen && this.usable && (this.verdict.verdict !== 'exists' || this.ifExists !== 'skip')
  }

  with(changes: Partial<Pick<Draft, 'values' | 'name' | 'chosen' | 'ifExists'>>): Draft {
    return new Draft({ ...this.#fields(), ...changes }, this.#config)
  }

  withValue(label: string, value: string): Draft {
    return this.with({ values: new Map(this.values).set(label, value) })
  }

  /** The configuration to test or to save. */
  body(): Body {
    const body = structuredClone(this.#config) as Record<string, unknown>
    const variables = { ...(body.variables as Record<string, unknown> | undefined) }
    for (const { label, target } of this.blanks) {
      const value = this.values.get(label)
      if (value === undefined) continue
      if ('variable' in target) variables[target.variable] = value
      else setAt(body, target.pointer, value)
    }
    if (Object.keys(variables).length > 0) body.variables = variables
    return { ...body, name: this.name }
  }

  #fields(): Pick<Draft, 'verdict' | 'blanks' | 'values' | 'name' | 'chosen' | 'ifExists'> {
    const { verdict, blanks, values, name, chosen, ifExists } = this
    return { verdict, blanks, values, name, chosen, ifExists }
  }
}

/** Position of a pointer in a JSON text; undefined if the text is invalid, or has no such place. */
export function positionOf(document: string, pointer: string): Position | undefined {
  const root = parseTree(document, undefined, { allowTrailingComma: true })
  if (!root) return undefined
  const path = tokensOf(pointer)
  // A missing field is shown at the entry that lacks it.
  for (let length = path.length; length > 0; length -= 1) {
    const node = nodeAt(root, path.slice(0, length))
    if (node) return lineAndColumn(document, node.parent?.type === 'property' ? node.parent.offset : node.offset)
  }
  return undefined
}

/** Tokens of a pointer do not show whether they are names or indices of a list. */
function nodeAt(root: Node, tokens: readonly string[]): Node | undefined {
  return tokens.reduce<Node | undefined>(
    (node, token) => node && findNodeAtLocation(node, [node.type === 'array' ? Number(token) : token]),
    root,
  )
}

function lineAndColumn(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  const line = before.split('\n').length
  return { line, column: offset - before.lastIndexOf('\n') }
}

function withSecrets(verdict: Verdict, document: string): Body {
  const body = structuredClone(verdict.body ?? {}) as Record<string, unknown>
  const root = verdict.places ? parseTree(document, undefined, { allowTrailingComma: true }) : undefined
  for (const [pointer, place] of Object.entries(verdict.places ?? {})) {
    const span = verdict.spans?.[pointer]
    const found = span
      ? `${span.before ?? ''}${document.slice(span.from, span.to)}`
      : root && nodeAt(root, tokensOf(place))?.value
    setAt(body, pointer, typeof found === 'string' ? found : '')
  }
  return body
}

function blanksOf(verdict: Verdict, config: Body): readonly Blank[] {
  const secrets = new Set(Object.keys(verdict.places ?? {}))
  const blanks: Blank[] = []
  const known = new Set(Object.keys((config.variables as object | undefined) ?? {}))
  eachString(config, '', (text, pointer) => {
    const label = labelOf(pointer)
    const placeholder = PLACEHOLDER.test(text.trim())
    for (const [, variable = ''] of text.matchAll(REFERENCE)) {
      if (known.has(variable)) continue
      known.add(variable)
      blanks.push({
        target: { variable },
        label: variable,
        secret: SECRET_NAME.test(variable),
        had: text,
        missing: true,
      })
    }
    if (secrets.has(pointer) || placeholder) {
      const missing = placeholder || text === '' || text.startsWith(MASK)
      blanks.push({
        target: { pointer },
        label,
        secret: secrets.has(pointer) || SECRET_NAME.test(label),
        had: placeholder ? text : undefined,
        missing,
      })
    }
  })
  return blanks
}

/** True when every error is a variable whose value is requested. */
function onlyVariables({ error }: Verdict): boolean {
  return (
    error?.errors !== undefined &&
    error.errors.length > 0 &&
    error.errors.every(({ code }) => code === 'variable_unknown')
  )
}

function eachString(value: unknown, pointer: string, visit: (text: string, pointer: string) => void): void {
  if (typeof value === 'string') visit(value, pointer)
  else if (value !== null && typeof value === 'object') {
    for (const [name, item] of Object.entries(value))
      eachString(item, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, visit)
  }
}

function labelOf(pointer: string): string {
  const [first, ...rest] = tokensOf(pointer)
  return first === 'env' || first === 'headers' ? rest.join('/') : [first, ...rest].join('/')
}

function tokensOf(pointer: string): string[] {
  return pointer
    .replace(/^#/, '')
    .split('/')
    .slice(1)
    .map(token => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function valueAt(body: Body, pointer: string): unknown {
  return tokensOf(pointer).reduce<unknown>(
    (value, token) => (value as Record<string, unknown> | undefined)?.[token],
    body,
  )
}

function setAt(body: Record<string, unknown>, pointer: string, value: string): void {
  const path = tokensOf(pointer)
  const last = path.pop() ?? ''
  const parent = path.reduce<unknown>((at, token) => (at as Record<string, unknown> | undefined)?.[token], body)
  if (parent !== null && typeof parent === 'object') (parent as Record<string, unknown>)[last] = value
}
