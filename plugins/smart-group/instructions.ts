import type { ScopeMemberInfo } from 'patchbay/features'

const HOW = [
  'The tools here are found by search_tools and called by call_tool; describe_tool gives the arguments of one in full.',
  'A name that search_tools gave can be called directly too.',
  'The tools come from these servers:',
].join('\n')
/** Characters of the whole text. */
const MOST_CHARACTERS = 4_096
const LINE_CHARACTERS = 120

/** Text on using the three tools, and a line for each server as far as there is room. */
export function instructions(members: readonly ScopeMemberInfo[]): string {
  const lines = members.map(({ server, description, tools }) => {
    const about = description === undefined ? '' : `: ${description.replace(/\s+/g, ' ')}`
    return `- ${server} (${tools})${about}`.slice(0, LINE_CHARACTERS)
  })
  let text = HOW
  for (const [at, line] of lines.entries()) {
    const rest = `\n- and ${lines.length - at} more`
    if (text.length + line.length + 1 + rest.length > MOST_CHARACTERS) return `${text}${rest}`
    text += `\n${line}`
  }
  return text
}
