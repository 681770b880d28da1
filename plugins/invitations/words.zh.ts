/** Chinese for what this plugin says to people. */
export const words: Readonly<Record<string, string>> = {
  'There is no such invitation': '没有此邀请',
  'Open the whole link as you got it, or ask for a new one.': '请打开收到的完整链接，或索取新的链接。',
  'The invitation has ended': '邀请已结束',
  'Ask the one who sent it for a new one.': '请向发送者索取新的邀请。',
  'The invitation was used already': '邀请已被使用',
  'Ask the one who sent it for one of your own.': '请向发送者索取您自己的邀请。',
  'There are too many invitations': '邀请过多',
  'End one that is no longer needed.': '请结束不再需要的邀请。',
}
