import type { JsonObject } from '../../contract/json.ts'
import type { GroupInstructions } from '../../features/groups.ts'
import { type Fields, STRING_BYTES } from '../json/fields.ts'

const MEMBERS = ['beside', 'instead'] as const
const TEXT: JsonObject = { type: 'string', maxLength: STRING_BYTES }

/** JSON Schema of a group's `instructions`. */
export const INSTRUCTIONS_SCHEMA: JsonObject = {
  anyOf: [
    TEXT,
    {
      type: 'object',
      properties: {
        text: { ...TEXT, description: 'The text, of at most 8 KiB.' },
        members: {
          ...{ type: 'string', enum: [...MEMBERS], default: 'beside' },
          description: '`beside`: those of the members follow the text; `instead`: clients get the text alone.',
        },
      },
      required: ['text'],
    },
  ],
  description: 'The group’s own `instructions` for clients, as a text or with what becomes of those of the members.',
}

/** Parses `instructions`. A blank text is undefined, as no text is. */
export function readInstructions(fields: Fields): GroupInstructions | undefined {
  if (!fields.has('instructions')) return undefined
  if (typeof fields.raw('instructions') === 'string') return written(fields.text('instructions'), 'beside')
  const block = fields.nested('instructions')
  if (!block) return undefined
  block.refuseUnknown(['text', 'members'])
  const members = block.oneOf('members', MEMBERS) ?? 'beside'
  return block.required('text') ? written(block.text('text'), members) : undefined
}

function written(text: string | undefined, members: GroupInstructions['members']): GroupInstructions | undefined {
  return text === undefined || text.trim() === '' ? undefined : { text, members }
}
