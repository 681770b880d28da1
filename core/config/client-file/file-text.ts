import type { TextFormat } from '../import-text.ts'
import { UnreadableConfig } from './config-syntax.ts'
import { type SwitchedText, type TakenOver, withoutTakenOver } from './switched-off.ts'
import { syntaxOf } from './syntaxes.ts'

/** A file of a program with servers that the hub took over, and what became of them there. */
export interface SwitchJob extends TakenOver {
  readonly text: string
  readonly format: TextFormat
}

/** The changed text, or a sentence about why the file cannot be changed. */
export type SwitchAnswer = SwitchedText | { readonly problem: string }

/** Switches servers off in the text of a file. Takes up to a second for 256 KiB: call it in a worker. */
export function switchOff({ text, format, ...taken }: SwitchJob): SwitchAnswer {
  try {
    return withoutTakenOver(syntaxOf(format), text, taken)
  } catch (error) {
    if (!(error instanceof UnreadableConfig)) throw error
    return { problem: error.message }
  }
}
