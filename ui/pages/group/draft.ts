import type {
  GroupInstructions,
  GroupMember,
  GroupRecord,
  GroupSelector,
  ServerRecord,
  ToolRecord,
} from '../../api/types.ts'
import { refOf } from '../../api/types.ts'
import { tagsIn } from '../../components/tags.ts'

/** A tool that a member selects, perhaps under another name. */
export interface ChosenTool {
  readonly name: string
  readonly as?: string
}

/** A member as it is edited. */
export interface DraftMember {
  readonly server: string
  readonly alias?: string
  readonly tools: 'all' | readonly ChosenTool[]
  readonly prompts: 'all' | readonly unknown[]
  readonly resources: 'all' | readonly unknown[]
}

/** A selector as it is edited; empty texts are left out. */
export interface DraftSelector {
  readonly argument: string
  readonly default: string
  readonly description: string
  /** The value of each server; an empty one leaves it an ordinary member. */
  readonly values: Readonly<Record<string, string>>
}

/** A group as it is edited. */
export interface Draft {
  readonly name: string
  readonly description: string
  readonly visibility: 'private' | 'public'
  readonly naming: 'auto' | 'prefixed'
  readonly instructions: GroupInstructions
  /** As they are typed, separated by commas. */
  readonly tags: string
  readonly selector?: DraftSelector | undefined
  readonly members: readonly DraftMember[]
}

/** An empty group. */
export const EMPTY: Draft = {
  ...{ name: '', description: '', visibility: 'private', naming: 'auto', tags: '', members: [] },
  instructions: { text: '', members: 'beside' },
}

/** A saved group, to be edited. */
export function draftOf(group: GroupRecord): Draft {
  const { name, description = '', visibility, naming, members, instructions, tags = [], selector } = group
  return {
    ...{ name, description, visibility, naming, members: members.map(memberOf), tags: tags.join(', ') },
    instructions: instructions ?? EMPTY.instructions,
    ...(selector ? { selector: draftSelector(selector) } : {}),
  }
}

function memberOf({ server, alias, tools, prompts, resources }: GroupMember): DraftMember {
  return {
    ...{ server, prompts, resources },
    ...(alias === undefined ? {} : { alias }),
    tools: tools === 'all' ? 'all' : tools.map(tool => (typeof tool === 'string' ? { name: tool } : tool)),
  }
}

function draftSelector({ argument, members, default: preset = '', description = '' }: GroupSelector): DraftSelector {
  const values = Object.entries(members).map(([value, server]) => [server, value] as const)
  return { argument, default: preset, description, values: Object.fromEntries(values) }
}

function selectorOf({ argument, default: preset, description, values }: DraftSelector, members: Draft['members']) {
  const chosen = members.flatMap(({ server }) => (values[server] ? [[values[server], server] as const] : []))
  return {
    argument,
    members: Object.fromEntries(chosen),
    ...(chosen.some(([value]) => value === preset) ? { default: preset } : {}),
    ...(description === '' ? {} : { description }),
  }
}

/** The body that saves it. `owner`: for a group of another user. */
export function bodyOf(
  { name, description, visibility, naming, members, instructions, tags, selector }: Draft,
  owner?: string,
): Record<string, unknown> {
  return {
    ...{ name, visibility, naming },
    ...(description === '' ? {} : { description }),
    ...(instructions.text.trim() === '' ? {} : { instructions }),
    ...(tags.trim() === '' ? {} : { tags: tagsIn(tags) }),
    ...(selector === undefined ? {} : { selector: selectorOf(selector, members) }),
    ...(owner === undefined ? {} : { owner }),
    members: members.map(({ alias, tools, ...member }) => ({
      ...member,
      ...(alias ? { alias } : {}),
      tools: tools === 'all' ? 'all' : tools.map(({ name: tool, as }) => (as ? { name: tool, as } : tool)),
    })),
  }
}

/** True when a member selects a tool. */
export function selects({ tools }: DraftMember, tool: string): boolean {
  return tools === 'all' || tools.some(({ name }) => name === tool)
}

/**
 * Returns the member with a tool selected or left out. `known`: all tools of the server, which replace "all" when one is left
 * out.
 */
export function withTool(
  member: DraftMember,
  tool: string,
  chosen: boolean,
  known: readonly ToolRecord[],
): DraftMember {
  const present = member.tools === 'all' ? known.map(({ name }) => ({ name })) : member.tools
  const others = present.filter(({ name }) => name !== tool)
  return { ...member, tools: chosen ? [...others, { name: tool }] : others }
}

/** With a tool under another name; an empty one takes it back. */
export function renamed(member: DraftMember, tool: string, as: string, known: readonly ToolRecord[]): DraftMember {
  const present = member.tools === 'all' ? known.map(({ name }) => ({ name })) : member.tools
  return {
    ...member,
    tools: present.map(each => (each.name === tool ? { name: tool, ...(as === '' ? {} : { as }) } : each)),
  }
}

/** Returns a server as a member with everything it has, including later additions. */
export function newMember(server: ServerRecord): DraftMember {
  return { server: refOf(server), tools: 'all', prompts: 'all', resources: 'all' }
}
