/** Thrown when a plugin cannot start because plugins that it needs do not run. */
export class MissingNeeds extends Error {
  readonly names: readonly string[]

  constructor(names: readonly string[]) {
    const named = names.map(name => `"${name}"`).join(', ')
    super(`It needs plugin ${named}, which does not run: install or switch on what is missing`)
    this.names = names
  }
}

/** Names of the plugins without which one with these needs does not run. */
export function hardNeeds(needs: readonly string[] = []): readonly string[] {
  return needs.filter(name => !name.endsWith('?'))
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
