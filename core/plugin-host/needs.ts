/** Thrown when a plugin cannot start because plugins that it needs do not run. */
export class MissingNeeds extends Error {
  readonly names: readonly string[]

  /** `circle`: plugins that need each other, from the one that cannot start back to it. */
  constructor(names: readonly string[], circle?: readonly string[]) {
    const named = quoted(names).join(', ')
    const why = circle
      ? `which waits for it in turn (${quoted(circle).join(' → ')}): one of them has to do without the next`
      : 'which does not run: install or switch on what is missing'
    super(`It needs plugin ${named}, ${why}`)
    this.names = names
  }
}

/** Names of the plugins without which one with these needs does not run. */
export function hardNeeds(needs: readonly string[] = []): readonly string[] {
  return needs.filter(name => !name.endsWith('?'))
}

/** The way by which a plugin needs itself. `needsOf`: the needs of a plugin, by its name. */
export function circleOf(
  name: string,
  needsOf: (name: string) => readonly string[] | undefined,
): readonly string[] | undefined {
  const seen = new Set<string>()
  const ways: (readonly string[])[] = [[name]]
  for (const way of ways)
    for (const need of hardNeeds(needsOf(way.at(-1) ?? name))) {
      if (need === name) return [...way, need]
      if (!seen.has(need)) ways.push([...way, need])
      seen.add(need)
    }
  return undefined
}

function quoted(names: readonly string[]): readonly string[] {
  return names.map(name => `"${name}"`)
}

/** Plugins in the order in which they start: each after those that it names, the rest as given. */
export function inOrder<T extends { readonly name: string; readonly needs?: readonly string[] | undefined }>(
  plugins: readonly T[],
): readonly T[] {
  const byName = new Map(plugins.map(plugin => [plugin.name, plugin]))
  const ordered = new Set<T>()
  const visit = (plugin: T, above: ReadonlySet<T>): void => {
    if (ordered.has(plugin) || above.has(plugin)) return
    for (const need of plugin.needs ?? []) {
      const needed = byName.get(need.replace(/\?$/, ''))
      if (needed) visit(needed, new Set([...above, plugin]))
    }
    ordered.add(plugin)
  }
  for (const plugin of plugins) visit(plugin, new Set())
  return [...ordered]
}
