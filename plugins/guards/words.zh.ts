/** Chinese for the titles and remedies of the errors of guards. */
export const words: Readonly<Record<string, string>> = {
  'A rule refuses this content': '内容被规则拒绝',
  'Leave out what the message names, or ask the owner of the rule.': '请去掉消息中指出的内容，或联系规则的所有者。',
  'No such rule': '没有这条规则',
  'GET the rules of this server, group or hub first.': '请先查看此服务器、分组或 Hub 的规则。',
}
