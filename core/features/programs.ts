import type { FieldError } from '../contract/errors.ts'
import type { UserActor } from '../contract/records.ts'

declare module '../contract/points.ts' {
  interface ExtensionPoints {
    programSource: ProgramSource
    limitUse: LimitUse
  }
}

/** A file of a program. `name`: relative, with `/`, and one that a file can have: the plugin has checked it. */
export type ProgramFile = Readonly<{ name: string; executable: boolean }>

/** Programs that a plugin stores. The id of the contribution is the member of `programs` in the definition. */
export interface ProgramSource {
  /** The reason why a server of this owner may not run the program. Called before each save that names it newly. */
  refusal(ownerId: string, program: string): Promise<Pick<FieldError, 'code' | 'detail'> | undefined>
  /** Gives each file to `write`, which reads `content` to its end. When it rejects, nothing of the program is left. */
  unpack(
    ownerId: string,
    program: string,
    write: (file: ProgramFile, content: AsyncIterable<Uint8Array>) => Promise<void>,
  ): Promise<void>
}

/** The caller's use of limits of the plugin, by limit, for `GET /api/limits`. The id is the plugin's name. */
export interface LimitUse {
  of(actor: UserActor): Promise<Readonly<Record<string, number>>>
}
