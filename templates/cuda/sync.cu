${ barrier }${ "  // why: " ~ op.reason if op.reason else "" }
