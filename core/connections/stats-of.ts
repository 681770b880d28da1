import { lstatSync, type Stats, statSync } from 'node:fs'

/**
 * What is at a path that somebody entered. Undefined when nothing can be found there for whatever reason: it is missing,
 * a part of it is a file, too long, a circle of links or closed to the hub.
 */
export function statsOf(path: string, links: 'followed' | 'themselves' = 'followed'): Stats | undefined {
  try {
    return links === 'followed' ? statSync(path) : lstatSync(path)
  } catch {
    return undefined
  }
}
