import type { ServerRequestKind } from '../contract/records.ts'

/** The four kinds of list of a server. */
export type ListKind = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

/** The server capabilities that lists belong to, each with one notification of changes. */
export type ListCapability = 'tools' | 'prompts' | 'resources'

interface ListFacts {
  /** The method that reads it; the member of its result has the kind's name. */
  readonly method: string
  /** The capability of a server that has it. */
  readonly capability: ListCapability
  /** The member that identifies an item. */
  readonly itemKey: 'name' | 'uri' | 'uriTemplate'
}

/** Method, capability and key of each kind of list in MCP, in the order in which lists are read and shown. */
export const LISTS = {
  tools: { method: 'tools/list', capability: 'tools', itemKey: 'name' },
  prompts: { method: 'prompts/list', capability: 'prompts', itemKey: 'name' },
  resources: { method: 'resources/list', capability: 'resources', itemKey: 'uri' },
  resourceTemplates: { method: 'resources/templates/list', capability: 'resources', itemKey: 'uriTemplate' },
} as const satisfies Readonly<Record<ListKind, ListFacts>>

/** All kinds, in the order of {@link LISTS}. */
export const LIST_KINDS = Object.keys(LISTS) as readonly ListKind[]

const KIND_OF_METHOD: ReadonlyMap<string, ListKind> = new Map(LIST_KINDS.map(kind => [LISTS[kind].method, kind]))

/** The methods that read a list. */
export const LIST_METHODS: readonly string[] = [...KIND_OF_METHOD.keys()]

/** The kind of list that a method reads; undefined for other methods. */
export function listOfMethod(method: string): ListKind | undefined {
  return KIND_OF_METHOD.get(method)
}

/** The capabilities of {@link ListCapability}. */
export const LIST_CAPABILITIES: readonly ListCapability[] = ['tools', 'prompts', 'resources']

/** The notification that lists of this capability have changed. */
export function listChanged(capability: ListCapability): `notifications/${ListCapability}/list_changed` {
  return `notifications/${capability}/list_changed`
}

/** The member of a `subscriptions/listen` filter that opts in to the same notification. */
export function listChangedFilter(capability: ListCapability): `${ListCapability}ListChanged` {
  return `${capability}ListChanged`
}

const CHANGED_BY: ReadonlyMap<string, ListCapability> = new Map(
  LIST_CAPABILITIES.map(capability => [listChanged(capability), capability]),
)

/** The capability whose lists a notification reports as changed; undefined for other notifications. */
export function changedCapability(notification: string): ListCapability | undefined {
  return CHANGED_BY.get(notification)
}

/** The kinds of list that belong to a capability. */
export function listsOf(capability: ListCapability): readonly ListKind[] {
  return LIST_KINDS.filter(kind => LISTS[kind].capability === capability)
}

/** Requests that a server sends its client, and the client capability that each needs. */
const SERVER_REQUESTS: ReadonlyMap<string, ServerRequestKind> = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
])

/** The capability that a client must declare for this server request; undefined for other methods. */
export function serverRequestKind(method: string): ServerRequestKind | undefined {
  return SERVER_REQUESTS.get(method)
}
