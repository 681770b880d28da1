/** Facts about the hub's modules that its builds need. */
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

export const ROOT = resolve(import.meta.dirname, '..')
export const MAIN = 'core/main.ts'
/** A module that is loaded by its address: a worker thread, a transport. */
const BY_ADDRESS = /new URL\('(\.[^']*)\.ts', import\.meta\.url\)/g

/** Paths of all files below a folder of this tree, relative to the tree and sorted. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter(entry => entry.isFile())
    .map(entry => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort()
}

/** The modules that others load by their address; a bundler would not find them. Relative to the tree, sorted. */
export async function modulesByAddress(): Promise<string[]> {
  const sources = (await Promise.all(['core', 'plugins'].map(filesBelow))).flat().filter(path => path.endsWith('.ts'))
  const found = await Promise.all(
    sources.map(async path => {
      const text = await readFile(join(ROOT, path), 'utf8')
      return [...text.matchAll(BY_ADDRESS)].map(([, to]) => relative(ROOT, resolve(ROOT, dirname(path), `${to}.ts`)))
    }),
  )
  return [...new Set(found.flat())].sort()
}

/**
 * The text of a module for a build. It finds files in the folder `tree`. Modules that are loaded by their address are in
 * `built`, where their `.ts` became `.js`.
 */
export function placed(path: string, text: string, tree: string, built = tree): string {
  const folder = dirname(path)
  const address = (to: string): string => JSON.stringify(pathToFileURL(resolve(built, folder, `${to}.js`)).href)
  return text
    .replace(/^#!.*\n/, '')
    .replaceAll(BY_ADDRESS, (_, to) => `new URL(${address(to)})`)
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(`${tree}/${path}`).href))
    .replaceAll('import.meta.dirname', JSON.stringify(`${tree}/${folder}`))
}
