/** The effect of rules on the tools of one server. */
export interface ServerRules {
  /** The equivalent field of an entry: `includeTools` or `excludeTools`. */
  readonly lists: Readonly<Record<string, string[]>>
  /** Patterns that fit only some of its tools: which ones is not known before the server is asked. */
  readonly patterns: readonly string[]
}

/** Characters that may be compared in one file: some tens of milliseconds. */
const MOST_COMPARED = 2_000_000

type Rule = readonly [rule: string, isOn: boolean]

/**
 * Switches of tools by their names in a client, or by patterns of these, as opencode reads them: `*` and `?` stand for any text
 * and any character. Of several that fit, its earlier versions take the longest, and those since 1.1 the last of the file: what
 * is off by either is off.
 */
export class ToolRules {
  /** In both orders; the one that counts stands last. */
  readonly #orders: readonly (readonly Rule[])[]
  /** Rules that are whole names, with what counts for these. */
  #exact: ReadonlyMap<string, boolean> | undefined
  #left = MOST_COMPARED

  constructor(rules: ReadonlyMap<string, boolean>) {
    const inFile = [...rules]
    const byLength = inFile.toSorted(
      ([one], [other]) => one.length - other.length || (one < other ? -1 : Number(one > other)),
    )
    this.#orders = [inFile, byLength]
  }

  /** For the server whose tools are called `prefix` and their own name. Throws Error where the rules are too many or too tangled. */
  of(prefix: string): ServerRules {
    const [rules = []] = this.#orders
    this.#exact ??= new Map(
      rules
        .filter(([rule]) => !isPattern(rule))
        .map(([tool]) => [tool, this.#isOn(rule => this.#matches(tool, rule)) ?? true]),
    )
    const covering = new Set(rules.filter(([rule]) => rule.endsWith('*') && this.#matches(prefix, rule)))
    const isOn = this.#isOn((_, rule) => covering.has(rule)) ?? true
    const others = [...this.#exact]
      .filter(([tool, on]) => on !== isOn && tool.length > prefix.length && tool.startsWith(prefix))
      .map(([tool]) => tool.slice(prefix.length))
    const some = rules.filter(
      rule => rule[1] !== isOn && isPattern(rule[0]) && !covering.has(rule) && this.#mayFit(rule[0], prefix),
    )
    return { lists: listsOf(isOn, others), patterns: some.map(([rule]) => rule) }
  }

  /** Undefined when no rule fits. */
  #isOn(fits: (rule: string, entry: Rule) => boolean): boolean | undefined {
    const verdicts = this.#orders.flatMap(order => order.findLast(entry => fits(entry[0], entry))?.[1] ?? [])
    return verdicts.length === 0 ? undefined : verdicts.every(Boolean)
  }

  /** True when it may fit a name that begins with the prefix: the text before its first `*` does not contradict the prefix. */
  #mayFit(rule: string, prefix: string): boolean {
    const [start = ''] = rule.split('*', 1)
    const length = Math.min(start.length, prefix.length)
    if (!rule.includes('*') && start.length <= prefix.length) return false
    return this.#matches(prefix.slice(0, length), start.slice(0, length))
  }

  /** True when a pattern fits a text. It uses no regular expression, which a hostile pattern would make slow. */
  #matches(text: string, pattern: string): boolean {
    let [at, rule, star, resume] = [0, 0, -1, 0]
    while (at < text.length) {
      this.#left -= 1
      if (this.#left < 0) throw new Error('it has too many switches of tools, or ones that are too tangled')
      const wanted = pattern[rule]
      if (wanted === '*') {
        star = rule
        rule += 1
        resume = at
      } else if (wanted === '?' || wanted === text[at]) {
        rule += 1
        at += 1
      } else if (star >= 0) {
        resume += 1
        rule = star + 1
        at = resume
      } else return false
    }
    return /^\**$/.test(pattern.slice(rule))
  }
}

function listsOf(isOn: boolean, others: string[]): ServerRules['lists'] {
  if (!isOn) return { includeTools: others }
  return others.length === 0 ? {} : { excludeTools: others }
}

function isPattern(rule: string): boolean {
  return /[*?]/.test(rule)
}
