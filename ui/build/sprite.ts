import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Names that components of Web Awesome use for their own icons, and ours for the same. */
const COMPONENT_ICONS: Readonly<Record<string, string>> = {
  xmark: 'x',
  check: 'check',
  indeterminate: 'minus',
  'chevron-down': 'chevron-down',
  'chevron-left': 'chevron-left',
  'chevron-right': 'chevron-right',
  'circle-xmark': 'circle-x',
  'circle-info': 'info',
  eye: 'eye',
  'eye-slash': 'eye-off',
  copy: 'copy',
}

const icons = join(dirname(Bun.resolveSync('lucide-static/package.json', import.meta.dirname)), 'icons')

/** The sprite of every icon whose name stands between quotes in the sources, as symbols. */
export async function spriteOf(sources: readonly string[]): Promise<string> {
  const known = new Set((await readdir(icons)).filter(name => name.endsWith('.svg')).map(name => name.slice(0, -4)))
  const quoted = new Set(
    sources.flatMap(text => [...text.matchAll(/['"]([a-z][a-z0-9-]*)['"]/g)].map(([, word]) => word)),
  )
  const wanted = new Map<string, string>()
  for (const name of [...quoted].sort()) if (name !== undefined && known.has(name)) wanted.set(name, name)
  for (const [name, icon] of Object.entries(COMPONENT_ICONS)) wanted.set(name, icon)
  const symbols = await Promise.all([...wanted].map(([id, icon]) => symbolOf(id, icon)))
  return `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join('')}</svg>`
}

async function symbolOf(id: string, icon: string): Promise<string> {
  const text = await readFile(join(icons, `${icon}.svg`), 'utf8')
  const inner = text.slice(text.indexOf('>', text.indexOf('<svg')) + 1, text.lastIndexOf('</svg>'))
  const shapes = inner.replace(/\s*\n\s*/g, '')
  const line = 'fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round"'
  return `<symbol id="${id}" viewBox="0 0 24 24" ${line}>${shapes}</symbol>`
}
