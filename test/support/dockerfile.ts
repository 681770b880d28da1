/** One instruction of a Dockerfile, its continued lines joined. */
export interface Instruction {
  readonly name: string
  readonly value: string
}

/** From one FROM to the next. */
export interface Stage {
  /** The image it begins with. */
  readonly base: string
  /** Name in `COPY --from`. */
  readonly name: string | undefined
  readonly instructions: readonly Instruction[]
}

/** COPY of files, from the folder of the build or an earlier stage. */
export interface Copy {
  readonly stage: string | undefined
  readonly from: readonly string[]
  readonly to: string
}

const KNOWN = 'FROM WORKDIR COPY RUN ENV VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT'.split(' ')

/** Reads a Dockerfile. Throws on an instruction that the tests do not support, so that all of them are tested. */
export function readDockerfile(text: string): readonly Stage[] {
  const stages: { base: string; name: string | undefined; instructions: Instruction[] }[] = []
  for (const { name, value } of instructionsOf(text)) {
    if (!KNOWN.includes(name)) throw new Error(`The tests do not know the instruction ${name} of the Dockerfile`)
    if (name === 'FROM') {
      const [base = '', , as] = value.split(/\s+/)
      stages.push({ base, name: as, instructions: [] })
    } else stages.at(-1)?.instructions.push({ name, value })
  }
  return stages
}

function* instructionsOf(text: string): Generator<Instruction> {
  const joined = text.replaceAll(/^#.*\n/gm, '').replaceAll(/\\\n/g, ' ')
  for (const line of joined.split('\n')) {
    const [, name, value] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? []
    if (name !== undefined && value !== undefined) yield { name, value }
    else if (line.trim() !== '') throw new Error(`Not an instruction of a Dockerfile: ${line}`)
  }
}

/** The values of an instruction in a stage. */
export function valuesOf(stage: Stage | undefined, name: string): readonly string[] {
  return (stage?.instructions ?? []).filter(one => one.name === name).map(({ value }) => value)
}

export function readCopy(value: string): Copy {
  const words = value.split(/\s+/)
  const stage = /^--from=(.+)$/.exec(words[0] ?? '')?.[1]
  const paths = stage === undefined ? words : words.slice(1)
  if (paths.some(path => path.startsWith('--'))) throw new Error(`The tests do not know this COPY: ${value}`)
  return { stage, from: paths.slice(0, -1), to: paths.at(-1) ?? '' }
}

/** The variables of `ENV A=b C=d`. */
export function readEnv(value: string): Readonly<Record<string, string>> {
  return Object.fromEntries([...value.matchAll(/(\w+)=(\S*)/g)].map(([, name, text]) => [name, text]))
}

/** The command of a HEALTHCHECK or an ENTRYPOINT in its JSON form. */
export function readCommand(value: string): readonly string[] {
  return JSON.parse(value.slice(value.indexOf('['))) as string[]
}
