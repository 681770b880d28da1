import { z } from 'zod'
import { TAG_COUNT } from '../domain/groups/tags.ts'
import { TAG_CHARACTERS } from '../domain/names.ts'

/** Tags of which a server or group has at least one, in a rule. */
export const tagsField = z.array(z.string().min(1).max(TAG_CHARACTERS)).min(1).max(TAG_COUNT)
