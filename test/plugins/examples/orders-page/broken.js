throw new Error('this script is broken on purpose')
