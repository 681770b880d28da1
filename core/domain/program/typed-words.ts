import type { CommandWords } from './command-words.ts'

/** Quotes and dashes that programs for texts and web pages put in place of the plain ones. */
const QUOTED = /^[“”„‘’‚«»](.*)[“”‘’«»]$/s
const DASH = /^[–—−](?=[\w-])/
/** Words that only a shell acts on: the next command, a pipe, a file for the output, the background. */
const SHELL = /\s(&&|\|\|?|;|>{1,2}|2>&1|<)(?=\s)|\s(&)$|\S(;)\s/

/** The words with plain quotes and dashes; undefined where they have no others. `inCommand`: the first word had some. */
export function plainWords({
  words,
  variables,
}: CommandWords): (CommandWords & { readonly inCommand: boolean }) | undefined {
  const plain = words.map(word => {
    const bare = QUOTED.exec(word)?.[1] ?? word
    // Programs for texts join two hyphens to a dash; before a single letter there was one.
    return /\s/.test(bare) ? bare : bare.replace(DASH, /^[–—−]\w$/.test(bare) ? '-' : '--')
  })
  if (plain.every((word, at) => word === words[at])) return undefined
  return { words: plain, variables, inCommand: plain[0] !== words[0] }
}

/** The operator of a shell in a command; undefined where it has none. */
export function shellOperator(command: string): string | undefined {
  const found = SHELL.exec(command.trim())
  return found?.[1] ?? found?.[2] ?? found?.[3]
}
