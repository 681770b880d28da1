import { existsSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const CODE = /\.(?:ts|mjs|cjs)$/
/** Files on which every test depends. */
const EVERYWHERE = new Set(['package.json', 'bun.lock', 'bunfig.toml', 'tsconfig.json'])

/** Files that differ from the commit `since`, and new ones, as paths from the root. */
export function changedFiles(root: string, since = 'HEAD'): readonly string[] {
  const git = (...args: readonly string[]): readonly string[] => {
    const { success, stdout, stderr } = Bun.spawnSync(['git', ...args], { cwd: root })
    if (!success) throw new Error(`git ${args.join(' ')}: ${stderr}`)
    return lines(stdout.toString())
  }
  return [
    ...new Set([...git('diff', '--name-only', since, '--'), ...git('ls-files', '--others', '--exclude-standard')]),
  ]
}

/**
 * The test files among all files of the project that a change of these files can touch: those that import one of them, name
 * it in a text (as a program that they start, or a page that they read), or do so by way of others. A test that starts a hub
 * is touched by all of `core`.
 */
export function testsTouchedBy(changed: readonly string[], root: string): readonly string[] {
  const files = lines(
    Bun.spawnSync(['git', 'ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root }).stdout.toString(),
  )
  const tests = files.filter(file => file.startsWith('test/') && file.endsWith('.test.ts'))
  if (changed.some(file => EVERYWHERE.has(file))) return tests
  const tree = Map.groupBy(files, file => basename(file))
  const usedBy = new Map<string, string[]>()
  // A list of tests does not depend on them.
  for (const file of files.filter(name => CODE.test(name)))
    for (const used of namedIn(file, tree, root).filter(name => !tests.includes(name)))
      usedBy.set(used, [...(usedBy.get(used) ?? []), file])
  const touched = new Set(changed)
  for (const file of touched) for (const user of usedBy.get(file) ?? []) touched.add(user)
  return tests.filter(test => touched.has(test))
}

/**
 * The files of the project that are named between quotes in the file, also by only the last parts of their path; for the name of
 * a folder beside the file, all its files. `tree`: paths by their last part.
 */
function namedIn(file: string, tree: ReadonlyMap<string, readonly string[]>, root: string): readonly string[] {
  const path = join(root, file)
  // Removed, and not yet from what git lists.
  if (!existsSync(path)) return []
  const named = new Set([...readFileSync(path, 'utf8').matchAll(/['"`]([\w@./-]+)['"`]/g)].map(match => match[1] ?? ''))
  return [...named].flatMap(name => {
    if (name === 'patchbay/contract') return ['core/contract/mod.ts']
    if (name === 'patchbay/features') return ['core/features/mod.ts']
    if (name === 'patchbay/log-kit') return ['core/log-kit/mod.ts']
    if (name === 'patchbay/plugin-kit') return ['core/plugin-kit/mod.ts']
    const [, plugin] = /^patchbay\/plugins\/([\w-]+)$/.exec(name) ?? []
    if (plugin !== undefined) return [`plugins/${plugin}/types.ts`]
    const candidates = tree.get(basename(name)) ?? []
    const beside = join(dirname(file), name)
    if (candidates.includes(beside)) return [beside]
    const end = `/${name.replace(/^(?:\.{1,2}\/)+/, '')}`
    if (candidates.length > 0) return candidates.filter(other => `/${other}`.endsWith(end))
    if (!/^[\w-]+$/.test(name) || !statSync(join(root, beside), { throwIfNoEntry: false })?.isDirectory()) return []
    return [...tree.values()].flat().filter(other => other.startsWith(`${beside}/`))
  })
}

function lines(text: string): readonly string[] {
  return text.split('\n').filter(line => line !== '')
}
