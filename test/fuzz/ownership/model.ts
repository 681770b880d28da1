/** The rules of ownership, written a second time as simply as possible, to compare the hub with. */
export type Visibility = 'private' | 'public'

export interface Person {
  readonly name: string
  readonly admin: boolean
}

export interface Thing {
  readonly owner: string
  readonly name: string
  visibility: Visibility
}

export interface ModelServer extends Thing {
  /** A header's value that its upstream returns: it shows which server answered. */
  readonly tag: string
}

export interface ModelGroup extends Thing {
  readonly members: ModelServer[]
}

export interface ModelKey {
  readonly owner: string
  /** Everything under /mcp, or one thing. */
  readonly scope: 'mcp' | Thing
  readonly id: string
  readonly secret: string
}

export class Model {
  servers: ModelServer[] = []
  groups: ModelGroup[] = []
  keys: ModelKey[] = []

  server(owner: string, name: string): ModelServer | undefined {
    return this.servers.find(server => server.owner === owner && server.name === name)
  }

  group(owner: string, name: string): ModelGroup | undefined {
    return this.groups.find(group => group.owner === owner && group.name === name)
  }

  removeServer(gone: ModelServer): void {
    this.servers = this.servers.filter(server => server !== gone)
    for (const group of this.groups) {
      const at = group.members.indexOf(gone)
      if (at >= 0) group.members.splice(at, 1)
    }
  }

  removeGroup(gone: ModelGroup): void {
    this.groups = this.groups.filter(group => group !== gone)
  }
}

/** The status of a read or a change by this person; `thing` is undefined if it does not exist. */
export function statusOf(who: Person, thing: Thing | undefined, how: 'read' | 'change', done = 200): number {
  if (!thing) return 404
  if (who.admin || thing.owner === who.name) return done
  if (thing.visibility === 'private') return 404
  return how === 'read' ? 200 : 403
}

/** True when a call may reach the tools of this thing; roles do not matter here. */
export function mayUse(who: string, thing: Thing): boolean {
  return thing.visibility === 'public' || thing.owner === who
}

/** The servers behind a path, as tags; undefined if the path leads to nothing that this caller may use. */
export function behind(
  model: Model,
  caller: string,
  path: { owner?: string; name?: string },
  key?: ModelKey,
): Set<string> | undefined {
  const opens = (thing?: Thing): boolean =>
    key === undefined || key.scope === 'mcp' || (thing !== undefined && key.scope === thing)
  const tags = (servers: readonly ModelServer[]): Set<string> => new Set(servers.map(server => server.tag))
  if (path.name === undefined)
    return opens() ? tags(model.servers.filter(server => server.owner === caller)) : undefined
  const owner = path.owner ?? caller
  const group = model.group(owner, path.name)
  if (group && mayUse(caller, group) && opens(group))
    return tags(group.members.filter(server => mayUse(caller, server)))
  const server = model.server(owner, path.name)
  return server && mayUse(caller, server) && opens(server) ? tags([server]) : undefined
}
