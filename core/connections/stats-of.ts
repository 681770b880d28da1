import { lstatSync, type Stats, statSync } from 'node:fs'

/**
 * The stats of a path that a user entered. Undefined when it cannot be read for any reason: it is missing, a part of it
 * is a file, too long, a circle of links or not readable for the hub.
 */
export function statsOf(path: string, links: 'followed' | 'themselves' = 'followed'): Stats | undefined {
  try {
    return links === 'followed' ? statSync(path) : lstatSync(path)
  } catch {
    return undefined
  }
}
