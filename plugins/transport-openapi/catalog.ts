import { HubError, isJsonObject, type JsonObject } from 'patchbay/contract'
import { firstServer } from 'patchbay/transport-kit'
import { baseAddress } from './address.ts'
import { readBody } from './bodies.ts'
import { type CallPlan, planPath } from './call-plan.ts'
import type { OpenapiConfig } from './config.ts'
import { Discriminators } from './kinds.ts'
import { toolNames } from './names.ts'
import { chooseOperations, listOperations, type Operation, shownOperation } from './operations.ts'
import { readParameters } from './parameters.ts'
import type { OpenApiDocument } from './read-document.ts'
import { CannotBuild, References } from './references.ts'
import { LostParts, type Responses, readResponses } from './responses.ts'
import { cut } from './schema-keywords.ts'
import { Security } from './security.ts'
import { type ToolParts, toolDefinition } from './tool.ts'

/** Number of tools above which a warning advises to select fewer for the model. */
const MANY_TOOLS = 200
/** Limit of all definitions together, in characters of JSON; the catalogue accepts no more of one server. */
const MAX_TEXT = 16 * 1024 * 1024
/** Most parts of schemas written for all operations together, so that no document can keep its thread busy. */
const MAX_NODES = 3_000_000
/** The same for schemas with the kinds of their discriminators; beyond it, they are written without. */
const MAX_KIND_NODES = 1_000_000
const MAX_WARNINGS = 100
const MAX_PATH = 2_000
/** Longest time that the thread is kept busy without a break. */
const TURN_MS = 8

/** The tools of a document, and the plan of each for its calls. */
export interface Catalog {
  readonly serverInfo: { readonly name: string; readonly version: string }
  readonly instructions: string | undefined
  readonly tools: readonly JsonObject[]
  readonly plans: ReadonlyMap<string, CallPlan>
  readonly warnings: readonly string[]
  /** The address of the API, for health checks. */
  readonly base: URL
}

/** Yields to other work after `TURN_MS`. */
function pauses(): () => Promise<void> | undefined {
  let turnMs = performance.now()
  return () => {
    if (performance.now() - turnMs <= TURN_MS) return undefined
    return new Promise(resolve => {
      setImmediate(() => {
        turnMs = performance.now()
        resolve()
      })
    })
  }
}

/** Builds the tools of a document, and the plans for their calls. Throws HubError if there is no address for calls. */
export async function buildCatalog(document: OpenApiDocument, config: OpenapiConfig): Promise<Catalog> {
  const { root } = document
  const warnings: string[] = document.notes.slice()
  const references = new References(root)
  const operations = listOperations(root, references, warnings)
  const names = toolNames(operations)
  const chosen = chooseOperations(operations, names, config, warnings)
  const base = rootAddress(document, config)
  const security = new Security({
    root,
    references,
    credentials: config.credentials,
    manual: new Set(Object.keys(config.headers)),
    base: document.url ?? base.href,
  })
  const tools: JsonObject[] = []
  const plans = new Map<string, CallPlan>()
  const budget = { nodes: MAX_NODES }
  const discriminators = new Discriminators(root)
  const kinds = discriminators.isEmpty ? undefined : { discriminators, budget: { nodes: MAX_KIND_NODES } }
  const lost = new LostParts('A response')
  const open = new LostParts('A part of the arguments')
  const pause = pauses()
  let text = 0
  for (const [index, operation] of operations.entries()) {
    if (!chosen.has(operation)) continue
    await pause()
    const reasons: string[] = []
    try {
      const name = names[index] ?? ''
      const { tool, plan } = build(name, operation, {
        ...{ document, config, references, security, base, budget, kinds },
        lost: reason => lost.add(operation, reason),
        open: reason => reasons.push(reason),
      })
      text += JSON.stringify(tool).length
      if (text > MAX_TEXT) throw new CannotBuild(`the definitions before it have ${MAX_TEXT} characters already`)
      tools.push(tool)
      plans.set(name, plan)
      open.addAll(operation, reasons)
    } catch (error) {
      if (!(error instanceof CannotBuild)) throw error
      warnings.push(`${shownOperation(operation)} is left out: ${error.message}`)
    }
  }
  warnings.push(...open.warnings(), ...lost.warnings())
  if (tools.length > MANY_TOOLS) {
    warnings.unshift(`${tools.length} tools are more than most models handle well; choose some by "operations.include"`)
  }
  if (tools.length === 0) warnings.unshift('The document has no operation that can be offered as a tool')
  return {
    ...about(root),
    tools,
    plans,
    warnings: shortened([...warnings.slice(0, MAX_WARNINGS), ...security.warnings()], warnings.length),
    base,
  }
}

interface Shared {
  readonly document: OpenApiDocument
  readonly config: OpenapiConfig
  readonly references: References
  readonly security: Security
  readonly base: URL
  readonly budget: { nodes: number }
  readonly kinds: ToolParts['kinds']
  /** Called with the reason for each response that cannot be read. */
  readonly lost: (reason: string) => void
  /** Called with the reason for each part of the arguments that takes any value. */
  readonly open: (reason: string) => void
}

function build(
  name: string,
  operation: Operation,
  shared: Shared,
): { readonly tool: JsonObject; readonly plan: CallPlan } {
  const { references, budget, kinds } = shared
  if (operation.path.length > MAX_PATH) throw new CannotBuild(`its path is longer than ${MAX_PATH} characters`)
  const { definition } = operation
  references.proveButSchemas([definition.requestBody ?? null, ...operation.parameters], shared.open)
  const body = readBody(definition, { method: operation.method, version: shared.document.version, references })
  const responses = readResponses(definition, references, shared.lost)
  const proofs = shared.security.proofs(operation)
  const proven = new Set(
    proofs.flatMap(proof => (proof.kind === 'token' ? [] : [`${proof.kind}:${proof.name.toLowerCase()}`])),
  )
  const isManual = (header: string): boolean => Object.hasOwn(shared.config.headers, header.toLowerCase())
  const parameters = readParameters(operation, references, body !== undefined).filter(
    // Such a value is part of the configuration, and callers cannot set it.
    ([one]) => !proven.has(`${one.in}:${one.name.toLowerCase()}`) && !(one.in === 'header' && isManual(one.name)),
  )
  const tool = toolDefinition({
    ...{ name, operation, parameters, references, budget, kinds, responses },
    body: body && { ...body[1], required: body[0].required },
  })
  const plan: CallPlan = {
    tool: name,
    schema: tool.inputSchema,
    method: operation.method.toUpperCase(),
    base: addressOf(operation, shared),
    path: planPath(operation.path),
    parameters: parameters.map(([parameter]) => parameter),
    body: body?.[0],
    proofs,
    accept: acceptOf(responses),
    extraArguments: shared.config.extraArguments,
  }
  return { tool, plan }
}

/** The address of the whole API: the configured one, otherwise the document's first, relative to its own. */
function rootAddress({ root, url }: OpenApiDocument, { baseUrl }: OpenapiConfig): URL {
  const own = baseUrl ?? firstServer(root)
  if (own === undefined && url === undefined) {
    throw new HubError('config_invalid', 'The OpenAPI document names no address of the API', {
      hint: 'Set "openapi.baseUrl".',
    })
  }
  return baseAddress(own ?? '/', url)
}

function addressOf({ server }: Operation, { document, config, base }: Shared): URL {
  if (server === undefined || config.baseUrl !== undefined) return base
  try {
    return baseAddress(server, document.url ?? base.href)
  } catch (error) {
    if (!(error instanceof HubError)) throw error
    throw new CannotBuild(error.message)
  }
}

/** The `Accept` header for the media types of an operation's responses, JSON first. */
function acceptOf(responses: Responses): string {
  const types = responses.flatMap(([status, response]) => {
    const content = /^2/.test(status) ? response?.content : undefined
    return isJsonObject(content) ? Object.keys(content) : []
  })
  const usable = [...new Set(types)]
    .filter(type => /^[\w.+-]+\/[\w.+-]+(?:;[\x20-\x2b\x2d-\x7e]*)?$/.test(type))
    .slice(0, 8)
  const ordered = [...usable.filter(type => /json/.test(type)), ...usable.filter(type => !/json/.test(type))]
  if (ordered.length === 0) return 'application/json, */*;q=0.8'
  // The weights decrease, since servers that support several types would otherwise choose by an order of their own.
  return [...ordered.map((type, index) => (index === 0 ? type : `${type};q=0.${9 - index}`)), '*/*;q=0.1'].join(', ')
}

function about({ info }: JsonObject): Pick<Catalog, 'serverInfo' | 'instructions'> {
  const { title, version, description } = isJsonObject(info) ? info : {}
  return {
    serverInfo: {
      name: typeof title === 'string' && title.trim() !== '' ? cut(title.trim(), 200) : 'OpenAPI',
      version: typeof version === 'string' || typeof version === 'number' ? cut(String(version), 100) : '',
    },
    instructions:
      typeof description === 'string' && description.trim() !== '' ? cut(description.trim(), 2_000) : undefined,
  }
}

function shortened(warnings: readonly string[], all: number): readonly string[] {
  return all > MAX_WARNINGS ? [...warnings, `${all - MAX_WARNINGS} further warnings are not shown`] : warnings
}
